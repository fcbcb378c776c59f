"""The commands, their options and exit codes."""

from pathlib import Path
from typing import Annotated

import typer

from fairgate_scheduler.entrypoints.kube import check as checking
from fairgate_scheduler.entrypoints.kube import diff as comparing
from fairgate_scheduler.entrypoints.kube import importing
from fairgate_scheduler.entrypoints.kube import render as rendering
from fairgate_scheduler.entrypoints.settings import ClusterSettings

File = Annotated[Path, typer.Option("--file", "-f", help="The configuration: a YAML file, or a folder of them.")]
Kubeconfig = Annotated[Path | None, typer.Option(help="Of the cluster (default: where kubectl looks).")]
Context = Annotated[str | None, typer.Option(help="The context of the kubeconfig.")]

kube = typer.Typer(no_args_is_help=True, help="What a Kubernetes cluster gets of a configuration, and what is in it.")
imports = typer.Typer(no_args_is_help=True, help="Make a configuration out of what there is.")


@kube.command()
def render(file: File) -> None:
    """Print all objects of a configuration as YAML: the installation's rights and policies, queues, namespaces."""
    raise typer.Exit(rendering.run(file))


@kube.command()
def diff(file: File, kubeconfig: Kubeconfig = None, context: Context = None) -> None:
    """Compare a configuration with a cluster. Exit 0: nothing differs; 1: something does."""
    raise typer.Exit(comparing.run(file, ClusterSettings(kubeconfig, context)))


@kube.command()
def check(file: File, kubeconfig: Kubeconfig = None, context: Context = None) -> None:
    """Say what in a cluster would break Fairgate. Exit 0: nothing, but perhaps warnings; 1: errors."""
    raise typer.Exit(checking.run(file, ClusterSettings(kubeconfig, context)))


@imports.command("kueue")
def import_kueue(
    files: Annotated[
        list[Path] | None, typer.Option("--file", "-f", help="Manifests instead of a cluster; may be repeated.")
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Print the queues of a cluster as a configuration; what it does not carry over goes to standard error."""
    raise typer.Exit(importing.run(files or [], ClusterSettings(kubeconfig, context)))


@imports.callback()
def importing_from() -> None:
    """Make a configuration out of what there is."""
