"""Which field of the call a refusal of the service means: the service names its own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from fairgate_scheduler.service.errors import FairgateError, InvalidArgument

_BESIDE_JOB: Final = {"tenant": "parent", "job_id": "job_id", "request_id": "request_id"}


@contextmanager
def renamed(of: Callable[[str], str]) -> Iterator[None]:
    """Refusals of the service name its own fields: name those of the call instead."""
    try:
        yield
    except FairgateError as error:
        rename(error, of)
        raise


def rename(error: FairgateError, of: Callable[[str], str]) -> None:
    """Put the fields of the call into a refusal."""
    error.field = of(error.field)
    if isinstance(error, InvalidArgument):
        error.violations = tuple(replace(each, field=of(each.field)) for each in error.violations)


def of_submit(field: str) -> str:
    """The field of a SubmitJobRequest that the service means: what does not lie beside the job lies in it."""
    return _BESIDE_JOB.get(field, f"job.{field}" if field else "")


def of_update(field: str) -> str:
    """The field of an UpdateJobRequest that the service means: all of it lies in the job."""
    return f"job.{field}" if field else ""


def of_config(field: str) -> str:
    """The field of an ApplyConfigRequest that the service means: ``source`` holds the document."""
    return "source" + field.removeprefix("config") if field.startswith("config") else field


def of_parent(field: str) -> str:
    """The field of a call with a parent that the service means by its tenant."""
    return {"tenant": "parent", "name": "job"}.get(field, field)
