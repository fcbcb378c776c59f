import threading

import pytest
from fairgate_scheduler.service import watch as watching
from fairgate_scheduler.service.cancel import cancel
from fairgate_scheduler.service.errors import InvalidArgument, NotFound
from fairgate_scheduler.service.watch import watch


def _never():
    return False


def _take(items, count):
    return [next(items) for _ in range(count)]


def test_a_stream_begins_with_where_it_is_and_goes_on_from_any_item(rig):
    name = rig.submit().job.id
    cancel(rig.app, name)
    items = _take(watch(rig.app, None, None, 0, _never), 3)
    assert [each.sequence for each in items] == [0, 1, 2]
    assert [each.stored and each.stored.event.kind.value for each in items] == [None, "SUBMITTED", "CANCELLED"]
    assert items[1].view.job.id == name
    again = _take(watch(rig.app, None, None, 1, _never), 2)
    assert [each.sequence for each in again] == [1, 2]


def test_only_what_was_asked_for_is_told(rig):
    rig.submit("one", "a")
    two = rig.submit("two", "b").job.id
    rig.submit("three", "a")
    (_begin, item) = _take(watch(rig.app, "b", None, 0, _never), 2)
    assert item.stored.event.job == two
    (_begin, item) = _take(watch(rig.app, None, two, 0, _never), 2)
    assert (item.stored.event.job, item.sequence) == (two, 2)
    assert [each.sequence for each in _take(watch(rig.app, "org", None, 0, _never), 4)] == [0, 1, 2, 3]


def test_from_now_on_tells_only_what_comes_and_at_once(rig, monkeypatch):
    monkeypatch.setattr(watching, "_LOOK_S", 30)  # it must be the commit that wakes it
    rig.submit("before")
    items = watch(rig.app, None, None, None, _never)
    assert next(items).sequence == 1
    later = threading.Timer(0.05, lambda: rig.submit("after"))
    later.start()
    assert next(items).stored.event.job == "tenants/a/jobs/after"
    later.join()


def test_a_quiet_stream_has_a_heartbeat_and_passes_what_it_does_not_tell(rig, monkeypatch):
    monkeypatch.setattr(watching, "_LOOK_S", 0.001)
    rig.submit("one", "a")
    begin, beat = _take(watch(rig.app, "b", None, None, _never), 2)
    assert (begin.sequence, beat.sequence, beat.stored, beat.view) == (1, 1, None, None)
    assert (begin.is_caught_up, beat.is_caught_up) == (True, True)


@pytest.mark.parametrize(("after", "told"), [(0, [0, 1, 2, 2]), (1, [1, 2, 2]), (2, [2, 2])])
def test_what_was_there_at_the_begin_is_followed_at_once_by_word_that_it_was_all(rig, monkeypatch, after, told):
    monkeypatch.setattr(watching, "_LOOK_S", 30)  # a test that waited for a quiet stream would not end
    rig.submit("one")
    rig.submit("two")
    items = _take(watch(rig.app, None, None, after, _never), len(told))
    assert [each.sequence for each in items] == told
    assert [each.is_caught_up for each in items] == [False] * (len(told) - 1) + [True]


def test_what_is_not_told_is_passed(rig):
    rig.submit("one", "a")
    begin, beat = _take(watch(rig.app, "b", None, 0, _never), 2)
    assert (begin.sequence, beat.sequence, beat.is_caught_up) == (0, 1, True)


def test_it_ends_when_it_is_told_to(rig, monkeypatch):
    monkeypatch.setattr(watching, "_LOOK_S", 0.001)
    stop = threading.Event()
    items = watch(rig.app, None, None, None, stop.is_set)
    next(items)
    stop.set()
    assert list(items) == []


def test_wrong_beginnings_are_refused(rig):
    for tenant, job, error in (("x", None, NotFound), (None, "tenants/a/jobs/x", NotFound)):
        with pytest.raises(error):
            next(watch(rig.app, tenant, job, 0, _never))
    for after in (-1, 1):
        with pytest.raises(InvalidArgument) as caught:
            next(watch(rig.app, None, None, after, _never))
        assert caught.value.field == "after_sequence"
