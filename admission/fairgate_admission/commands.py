"""``fairgate gate``: the gate as a process, what a cluster gets of it, and whether it is closed."""

import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer
import yaml
from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import ApiError, UnavailableError
from fairgate_scheduler.adapters.kube.api.http import HttpApi
from fairgate_scheduler.adapters.kube.inspection.findings import Severity
from fairgate_scheduler.ports import StoreError

from fairgate_admission.facts.world import Settings
from fairgate_admission.installing.check import inspect_gate
from fairgate_admission.installing.manifests import Installation, manifests
from fairgate_admission.installing.names import SERVICE
from fairgate_admission.live.exceptions import declared
from fairgate_admission.running import PORT, Options, until_signal
from fairgate_admission.running import run as run_gate

_OPEN: Final = 1
_WRONG_INPUT: Final = 2
_REFUSED: Final = 4
_UNAVAILABLE: Final = 5

Kubeconfig = Annotated[Path | None, typer.Option(help="Of the cluster (default: where kubectl looks).")]
Context = Annotated[str | None, typer.Option(help="The context of the kubeconfig.")]
Namespace = Annotated[str, typer.Option(help="Where the gate runs.")]
EndIn = Annotated[
    list[str] | None, typer.Option(help="A namespace in which pods outside of reservations are ended; * is all.")
]

gate = typer.Typer(no_args_is_help=True, help="The gate in front of a cluster's accelerators.")


@gate.command()
def serve(
    store: Annotated[str, typer.Option(help="The database of the service.")],
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    listen: Annotated[str, typer.Option(help="HOST:PORT to listen on.")] = f"0.0.0.0:{PORT}",
    namespace: Namespace = names.SYSTEM_NAMESPACE,
    host: Annotated[
        list[str] | None, typer.Option(help="A name or address that the API server calls it by (default: its Service).")
    ] = None,
    tls_folder: Annotated[
        Path | None, typer.Option(help="Where somebody else keeps tls.crt and tls.key (default: it makes its own).")
    ] = None,
    sweep: Annotated[bool, typer.Option("--sweep", help="Look at living pods, too, every minute.")] = False,
    end_in: EndIn = None,
    notice: Annotated[float, typer.Option(help="Seconds from not being ready to taking no more calls.")] = 5.0,
    priority_class: Annotated[list[str] | None, typer.Option(help="One that tenants' pods may use.")] = None,
    runtime_class: Annotated[list[str] | None, typer.Option(help="One that pods without devices may use.")] = None,
    scheduler: Annotated[list[str] | None, typer.Option(help="One that tenants' pods may use.")] = None,
) -> None:
    """Answer the API server until SIGTERM. One line of JSON for each decision goes to standard output."""
    settings = Settings(
        priority_classes=tuple(priority_class or ()),
        runtime_classes=tuple(runtime_class or ()),
        schedulers=("default-scheduler", *(scheduler or ())),
    )
    options = Options(
        store=store,
        kubeconfig=kubeconfig,
        context=context,
        address=_address(listen),
        namespace=namespace,
        hosts=tuple(host or (f"{SERVICE}.{namespace}.svc",)),
        tls_folder=tls_folder,
        sweeps=sweep,
        ends_in=frozenset(end_in or ()),
        notice_s=notice,
        settings=settings,
    )
    _run(options)


def _address(listen: str) -> tuple[str, int]:
    where, _, port = listen.rpartition(":")
    if not port.isdigit():
        raise typer.BadParameter("write HOST:PORT", param_hint="--listen")
    return where, int(port)


def _run(options: Options) -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    try:
        run_gate(options, until_signal)
    except (StoreError, ApiError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        raise typer.Exit(_UNAVAILABLE if isinstance(error, UnavailableError) else _WRONG_INPUT) from None


@gate.command()
def render(
    image: Annotated[str, typer.Option(help="A container image with Fairgate's server in it.")],
    claim: Annotated[str, typer.Option(help="The PersistentVolumeClaim with the service's state.")],
    namespace: Namespace = names.SYSTEM_NAMESPACE,
    replicas: Annotated[int, typer.Option(min=1, help="How many answer the API server.")] = 3,
    cert_manager_issuer: Annotated[
        str, typer.Option(help="cert-manager's ClusterIssuer (default: the gate makes its own certificates).")
    ] = "",
    end_in: EndIn = None,
) -> None:
    """Print all objects of an installation as YAML, in the order in which they are applied."""
    site = Installation(image, claim, namespace, replicas, cert_manager_issuer, tuple(end_in or ()))
    dump = (yaml.dump(each, Dumper=yaml.CSafeDumper, sort_keys=False, width=120) for each in manifests(site))
    sys.stdout.write("---\n".join(dump))


@gate.command()
def check(
    user: Annotated[list[str] | None, typer.Option(help="The name of somebody of a tenant, to ask about.")] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Say what of an installation is open or broken. Exit 0: nothing, but perhaps warnings; 1: errors."""

    def act(api: HttpApi) -> int:
        found = inspect_gate(api, user or [])
        for each in found:
            sys.stdout.write(f"{each.severity.value}: {each.where}: {each.message}\n  fix: {each.remedy}\n")
        errors = sum(each.severity is Severity.ERROR for each in found)
        sys.stdout.write(f"{errors} errors, {len(found) - errors} warnings\n")
        return _OPEN if errors else 0

    raise typer.Exit(_with_cluster(kubeconfig, context, act))


@gate.command()
def exceptions(kubeconfig: Kubeconfig = None, context: Context = None) -> None:
    """List the exceptions that admins have made, with their ends."""

    def act(api: HttpApi) -> int:
        now = datetime.now(UTC)
        rows = [("RULE", "EXCEPTION", "CLUSTER ROLE", "EXPIRES", "IN FORCE")]
        for each in sorted(declared(api), key=lambda each: (each.rule, each.role)):
            expires = "never read" if each.expires is None else f"{each.expires:%Y-%m-%d %H:%M %Z}"
            rows.append((each.rule, each.name, each.role, expires, "yes" if each.is_good(now) else "no"))
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            sys.stdout.write("  ".join(cells).rstrip() + "\n")
        return 0

    raise typer.Exit(_with_cluster(kubeconfig, context, act))


def register(app: typer.Typer) -> None:
    """Add the commands to ``fairgate``."""
    app.add_typer(gate, name="gate")


def _with_cluster(kubeconfig: Path | None, context: str | None, act: Callable[[HttpApi], int]) -> int:
    try:
        api = HttpApi.load(kubeconfig, context)
        try:
            return act(api)
        finally:
            api.close()
    except ApiError as error:
        sys.stderr.write(f"error: {error}\n")
        return _UNAVAILABLE if isinstance(error, UnavailableError) else _REFUSED
