"""A stream of what happens to jobs, which can be taken up again after any of its items."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from fairgate_scheduler.ports import StoredEvent
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.errors import InvalidArgument, NotFound, Violation
from fairgate_scheduler.service.query import subtrees, unknown_tenant
from fairgate_scheduler.service.viewing import Viewer
from fairgate_scheduler.service.views import JobView

_BATCH: Final = 200
_LOOK_S: Final = 0.5
HEARTBEAT_LOOKS: Final = 20
"""After so many quiet looks, half a second each, an item without an event tells that the stream is alive."""


@dataclass(frozen=True, slots=True)
class WatchItem:
    """One event with the job as it is now, or a heartbeat without either. ``sequence``: go on after this one.

    ``is_caught_up``: of a heartbeat, nothing newer than ``sequence`` was there.
    """

    sequence: int
    stored: StoredEvent | None = None
    view: JobView | None = None
    is_caught_up: bool = False


def watch(
    app: App, tenant: str | None, job: str | None, after: int | None, should_stop: Callable[[], bool]
) -> Iterator[WatchItem]:
    """The events after ``after`` (``None``: from now on) of a tenant and all below it, or of one job.

    It waits for more until ``should_stop``, which is asked twice a second, says so. The first item is a heartbeat that
    tells where the stream begins. One that has caught up comes right after what was there to be told at the begin.

    Raises:
        NotFound: no such tenant or job. InvalidArgument: a sequence number that was never given.
    """
    at, tenants = _start(app, tenant, job, after)
    is_caught_up = after is None
    yield WatchItem(at, is_caught_up=is_caught_up)
    while not should_stop():
        seen = app.changes.count
        viewer = Viewer(app)
        with app.read() as transaction:
            last = transaction.last_event()
            events = transaction.list_events(at, _BATCH, tenants, job) if last > at else ()
            jobs = {each.event.job for each in events}
            found = {name: transaction.get_job(name) for name in sorted(jobs)}
            views = {name: viewer.view(transaction, record) for name, record in found.items() if record}
        for each in events:
            yield WatchItem(each.sequence, each, views.get(each.event.job))
        at = events[-1].sequence if len(events) == _BATCH else max(at, last)
        if events:
            continue
        if not is_caught_up:
            is_caught_up = True
            yield WatchItem(at, is_caught_up=True)
        for _ in range(HEARTBEAT_LOOKS):
            if app.changes.wait(seen, _LOOK_S) > seen or should_stop():
                break
        else:
            yield WatchItem(at, is_caught_up=True)


def _start(app: App, tenant: str | None, job: str | None, after: int | None) -> tuple[int, frozenset[str] | None]:
    version = app.config_version()
    if tenant is not None and (version is None or tenant not in version.config.tenants):
        raise unknown_tenant(tenant, version)
    tenants = subtrees(app, frozenset({tenant})) if tenant is not None else None
    with app.read() as transaction:
        if job is not None and transaction.get_job(job) is None:
            raise NotFound(f"there is no job {job}", field="name", remedy="see: fairgate get jobs")
        last = transaction.last_event()
    if after is not None and not 0 <= after <= last:
        message = f"{after} is no sequence number that was given; the last one is {last}"
        raise InvalidArgument([Violation("after_sequence", message, "begin at 0, or without it from now on")])
    return (last if after is None else after), tenants
