"""One failing part of a step is logged and tried again in the next turn; it never stops the rest."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from fairgate_scheduler.core.jobs import Job
from fairgate_scheduler.service.app import App, Writing

Item = TypeVar("Item")

_logger = logging.getLogger(__name__)


@contextmanager
def tolerate(what: str) -> Iterator[None]:
    """Log any error of the block with what was being done, and go on after it."""
    try:
        yield
    except Exception:
        _logger.exception("%s failed; it is tried again", what)


def write_each(
    app: App,
    items: Sequence[Item],
    job_of: Callable[[Item], str],
    write: Callable[[Writing, Job, Item], None],
    what: str,
) -> None:
    """Write something about the job of each item, all in one transaction: the disk is waited for once.

    When that fails, each is written in one of its own, so that one that can not be written holds up no other. ``write``
    gets the job as it is stored; items whose job is not there are skipped.
    """
    if len(items) > 1:
        try:
            _write(app, items, job_of, write)
        except Exception:
            _logger.exception("%s together failed; doing it one by one", what)
        else:
            return
    for item in items:
        with tolerate(f"{what} of {item}"):
            _write(app, [item], job_of, write)


def _write(
    app: App, items: Sequence[Item], job_of: Callable[[Item], str], write: Callable[[Writing, Job, Item], None]
) -> None:
    with app.write() as writing:
        writing.look_at(map(job_of, items))
        for item in items:
            job = writing.transaction.get_job(job_of(item))
            if job is not None:
                write(writing, job, item)
