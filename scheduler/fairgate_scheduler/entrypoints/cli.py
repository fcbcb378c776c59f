"""The server's commands of ``fairgate``: they join the client's by the entry-point group ``fairgate.commands``."""

from dataclasses import replace
from datetime import tzinfo
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from fairgate_scheduler.documents.scalars import parse_duration
from fairgate_scheduler.entrypoints import replaying
from fairgate_scheduler.entrypoints import simulate as simulating
from fairgate_scheduler.entrypoints import up as running
from fairgate_scheduler.entrypoints.demo import command as demonstrating
from fairgate_scheduler.entrypoints.kube import commands as kube
from fairgate_scheduler.entrypoints.settings import ClusterSettings, Settings
from fairgate_scheduler.replay.readers import FORMATS
from fairgate_scheduler.replay.study import Wish

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
commands = typer.Typer()
commands.add_typer(kube.kube, name="kube")
commands.add_typer(kube.imports, name="import")


class RunnerKind(StrEnum):
    """Where jobs run."""

    LOCAL = "local"
    KUBE = "kube"


def register(app: typer.Typer) -> None:
    """Add the server's commands."""
    app.registered_commands += commands.registered_commands
    app.registered_groups += commands.registered_groups


@commands.command()
def up(
    state_dir: Annotated[
        Path | None,
        typer.Option(envvar="FAIRGATE_STATE_DIR", help="Where everything is kept (default: ~/.fairgate)."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="A configuration to put in force at the start.")
    ] = None,
    listen: Annotated[
        str, typer.Option(help="unix:PATH or HOST:PORT on loopback (default: a socket in the state directory).")
    ] = "",
    job_dir: Annotated[Path, typer.Option(help="What relative paths in runtimeEnvYAML count from.")] = Path(),
    grace_period: Annotated[str, typer.Option(help="Time between an eviction's notice and the kill.")] = "30s",
    runner: Annotated[RunnerKind, typer.Option(help="Where jobs run: on this machine, or in a Kubernetes cluster.")] = (
        RunnerKind.LOCAL
    ),
    kubeconfig: Annotated[
        Path | None, typer.Option(help="Of the cluster (default: where kubectl looks, else the pod's own).")
    ] = None,
    context: Annotated[str | None, typer.Option(help="The context of the kubeconfig.")] = None,
) -> None:
    """Run the service: SQLite and local Ray on this machine, or Kueue and KubeRay in a cluster."""
    try:
        grace_ms = parse_duration(grace_period)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; write for example 30s or 2m", param_hint="--grace-period") from None
    folder = (state_dir or Path.home() / ".fairgate").expanduser().absolute()
    settings = Settings(folder, listen, job_dir.absolute(), grace_ms)
    if runner is RunnerKind.KUBE:
        settings = replace(settings, cluster=ClusterSettings(kubeconfig, context))
    raise typer.Exit(running.run(settings, config))


@commands.command()
def simulate(
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILE...]", help="Scenario files.")] = None,
    trace: Annotated[Path | None, typer.Option(help="A job log to replay instead of scenario files.")] = None,
    log_format: Annotated[str, typer.Option("--format", help=f"What the log is: {', '.join(FORMATS)}.")] = "",
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Replay under this configuration (default: one from the log).")
    ] = None,
    accelerators: Annotated[
        int | None, typer.Option(min=1, help="How many accelerators a configuration from the log has.")
    ] = None,
    write_config: Annotated[Path | None, typer.Option(help="Write the configuration that was used.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it: FILE.svg or FILE.png; needs fairgate[plot].")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many jobs of the log, the first ones.")] = None,
    checkpoint_every: Annotated[
        str, typer.Option(help="How often the jobs checkpoint, such as 30m (default: what is evicted begins anew).")
    ] = "",
    forecast_quality: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Measure the forecasts at submit, of N jobs.")
    ] = None,
    time_zone: Annotated[str, typer.Option(help="Of instants without an offset, such as Europe/Berlin.")] = "UTC",
    as_json: AsJson = False,
) -> None:
    """Replay scenario files, or a real job log, through the real scheduler on virtual time.

    Scenario files: exit 0, everything holds; 1, something does not; 2, a file is not valid. A log: exit 0 when it was
    replayed, 2 when it or the configuration is not valid.
    """
    given = (log_format, config, accelerators, write_config, plot, limit, checkpoint_every, forecast_quality)
    if trace is None:
        if any(given):
            raise typer.BadParameter("these options are for a job log; name it with --trace", param_hint="--trace")
        if not files:
            raise typer.BadParameter("name scenario files, or a job log with --trace", param_hint="FILE...")
        raise typer.Exit(simulating.run(files, as_json))
    if files:
        raise typer.BadParameter("either scenario files or --trace, not both", param_hint="--trace")
    if log_format not in FORMATS:
        raise typer.BadParameter(f"write one of {', '.join(FORMATS)}", param_hint="--format")
    if config is not None and accelerators is not None:
        raise typer.BadParameter("a configuration says itself how many there are", param_hint="--accelerators")
    wish = Wish(None, accelerators, limit, _every_ms(checkpoint_every), forecast_quality)
    asked = replaying.Replaying(trace, log_format, config, plot, write_config, _zone(time_zone), wish, as_json)
    raise typer.Exit(replaying.run(asked))


def _every_ms(text: str) -> int | None:
    if not text:
        return None
    try:
        every_ms = parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; write for example 30m", param_hint="--checkpoint-every") from None
    if not every_ms:
        raise typer.BadParameter("write a duration above 0s", param_hint="--checkpoint-every")
    return every_ms


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        message = f"{name!r} is not a time zone; write for example Europe/Berlin"
        raise typer.BadParameter(message, param_hint="--time-zone") from None


@commands.command()
def demo(
    as_json: AsJson = False,
    tutorial: Annotated[Path, typer.Option(help="The folder of the tutorial.")] = demonstrating.DEFAULT_TUTORIAL,
) -> None:
    """See fair sharing at work on this machine: real Ray jobs, preempted, resumed and moved to other accelerators."""
    raise typer.Exit(demonstrating.run(as_json, tutorial))
