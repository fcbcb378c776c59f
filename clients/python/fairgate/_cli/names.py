"""Names as people type them."""

import difflib
import os
from collections.abc import Iterable
from typing import Annotated

import typer

from fairgate import _config
from fairgate._cli.report import usage_error
from fairgate._client import job_name
from fairgate._errors import NotFound, Violation

JobName = Annotated[str, typer.Argument(help="TENANT/JOB, or JOB with --tenant.")]
TenantOfJob = Annotated[str | None, typer.Option(help="The job's tenant.")]


def full_job(name: str, tenant: str | None) -> str:
    """A job's full name from ``TENANT/JOB``, the full name, or ``JOB`` with a tenant named besides."""
    if "/" in name:
        return job_name(name)
    owner = chosen_tenant(tenant)
    if not owner:
        raise usage_error(f"{name!r} could be a job of any tenant", f"write TENANT/{name}, or add --tenant TENANT")
    return job_name(f"{owner.removeprefix('tenants/')}/{name}")


def short_job(name: str) -> str:
    """``TENANT/JOB`` of a full name."""
    parts = name.split("/")
    return f"{parts[1]}/{parts[3]}" if len(parts) == 4 else name


def short(name: str) -> str:
    """The last part of a name."""
    return name.rpartition("/")[2]


def chosen_tenant(tenant: str | None) -> str | None:
    """The tenant that was named, else that of the environment, if any."""
    return tenant or os.environ.get(_config.TENANT) or None


def known(name: str, there: Iterable[str], kind: str) -> str:
    """The name, if it is one of those. Raises NotFound with the one that it looks like."""
    names = list(there)
    if name in names:
        return name
    close = difflib.get_close_matches(name, names, n=1)
    remedy = f"did you mean {close[0]}?" if close else f"see: fairgate get {kind}s"
    raise NotFound([Violation("", f"there is no {kind} {name!r}", remedy)])
