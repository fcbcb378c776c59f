"""A mirror shows what the server has, tells each change once, and comes back from whatever may happen to a watch."""

import math
import threading
import time

import pytest
from fairgate_scheduler.adapters.kube.api import InvalidError
from fairgate_scheduler.adapters.kube.api.kinds import CONFIG_MAP, NAMESPACE, NODE
from fairgate_scheduler.adapters.kube.watching.mirror import Mirror, Selection
from fairgate_scheduler.adapters.kube.watching.prune import keeping
from fairgate_scheduler.testing.fake_api import FakeApi
from fairgate_scheduler.testing.sim_clock import SimClock

AT_ONCE = Selection(watch_s=0)


class World:
    """A cluster with one mirror of its config maps."""

    def __init__(self, selection=AT_ONCE, seed=0):
        self.clock = SimClock()
        self.api = FakeApi(self.clock)
        self.api.create(NAMESPACE, {"metadata": {"name": "ns"}})
        self.mirror = Mirror(self.api, CONFIG_MAP, self.clock, selection, seed=seed)
        self.told = []
        self.mirror.subscribe(self.told.append)

    def write(self, name, value="1", **metadata):
        named = {"name": name, "namespace": "ns", **metadata}
        return self.api.apply(CONFIG_MAP, {"metadata": named, "data": {"value": value}})

    def delete(self, name):
        assert self.api.delete(CONFIG_MAP, name, "ns")

    def shown(self):
        return {each["metadata"]["name"]: each["data"]["value"] for each in self.mirror.items()}

    def news(self):
        """What was told since the last look, as (name, value before, value after)."""
        told = [(_name(each), _value(each.before), _value(each.after)) for each in self.told]
        self.told.clear()
        return told

    def verbs(self):
        calls = [verb for verb, plural, _, _ in self.api.calls if plural == "configmaps" and verb in ("list", "watch")]
        self.api.calls.clear()
        return calls


def _name(change):
    return (change.after or change.before)["metadata"]["name"]


def _value(manifest):
    return manifest and manifest["data"]["value"]


@pytest.fixture
def world():
    return World()


def test_before_the_first_list_it_knows_that_it_knows_nothing(world):
    assert (world.mirror.synced, world.mirror.age_s, world.shown()) == (False, math.inf, {})


def test_it_shows_what_was_there_and_what_comes(world):
    world.write("a")
    world.mirror.step()
    assert (world.mirror.synced, world.shown(), world.news()) == (True, {"a": "1"}, [("a", None, "1")])
    world.write("a", "2")
    world.write("b")
    world.mirror.step()
    assert world.shown() == {"a": "2", "b": "1"}
    assert world.news() == [("a", "1", "2"), ("b", None, "1")]
    world.delete("a")
    world.mirror.step()
    assert world.shown() == {"b": "1"}
    assert world.news() == [("a", "2", None)]
    assert world.verbs() == ["list", "watch", "watch", "watch"]


def test_objects_are_found_by_name_and_by_label():
    world = World(Selection(index="job", watch_s=0))
    for name, job in (("a", "x"), ("b", "y"), ("c", "x")):
        world.write(name, labels={"job": job})
    world.write("d")
    world.mirror.step()
    names = [[each["metadata"]["name"] for each in world.mirror.labelled(job)] for job in ("x", "y", "z")]
    assert names == [["a", "c"], ["b"], []]
    assert world.mirror.get("ns", "d")["data"] == {"value": "1"}
    assert world.mirror.get("ns", "e") is None
    world.write("a", labels={"job": "y"})
    world.delete("b")
    world.mirror.step()
    names = [[each["metadata"]["name"] for each in world.mirror.labelled(job)] for job in ("x", "y")]
    assert names == [["c"], ["a"]]


def test_only_what_is_selected_is_mirrored_also_when_that_changes():
    world = World(Selection(labels="mine=yes", watch_s=0))
    world.write("a", labels={"mine": "yes"})
    world.write("b")
    world.mirror.step()
    assert world.shown() == {"a": "1"}
    world.write("a", labels={"mine": "no"})
    world.write("b", labels={"mine": "yes"})
    world.mirror.step()
    assert world.shown() == {"b": "1"}
    assert world.news()[1:] == [("a", "1", None), ("b", None, "1")]


def test_a_quiet_kind_is_not_listed_again_while_others_are_busy(world):
    world.mirror.step()
    for number in range(5):
        world.api.create(NODE, {"metadata": {"name": f"node-{number}"}})
    world.mirror.step()
    world.api.objects.compact()
    world.mirror.step()
    assert world.verbs() == ["list", "watch", "watch", "watch"]
    assert world.mirror.trouble == ""


def test_after_a_compaction_it_lists_at_once_and_tells_what_it_missed(world):
    for name in "abc":
        world.write(name)
    world.mirror.step()
    world.news()
    world.delete("a")
    world.write("b", "2")
    world.delete("c")
    world.write("c", "new")
    world.write("d")
    world.api.objects.compact()
    assert world.mirror.step() == 0.0
    assert world.mirror.trouble.startswith("too old resource version")
    world.mirror.step()
    assert world.shown() == {"b": "2", "c": "new", "d": "1"}
    assert world.news() == [("a", "1", None), ("b", "1", "2"), ("c", "1", None), ("c", None, "new"), ("d", None, "1")]
    assert world.mirror.trouble == ""


def test_one_that_took_the_name_of_another_between_two_looks_is_two_changes(world):
    world.write("a")
    world.mirror.step()
    world.delete("a")
    world.write("a", "2")
    world.news()
    world.mirror.step()
    assert world.news() == [("a", "1", None), ("a", None, "2")]


@pytest.mark.parametrize("verb", ["list", "watch"])
def test_waits_after_failures_double_up_to_half_a_minute(world, verb):
    for nth in range(1, 11):
        world.api.faults.fail(verb, "configmaps", nth)
    waits = [world.mirror.step() for _ in range(10)]
    bounds = [0.5, 1, 2, 4, 8, 16, 30, 30, 30, 30]
    assert all(most / 2 <= wait <= most for wait, most in zip(waits, bounds, strict=True)), waits
    assert world.mirror.trouble == "connection refused"
    world.write("a")
    world.mirror.step()
    world.write("b")
    assert world.mirror.step() == 0.0
    assert (world.shown(), world.mirror.trouble) == ({"a": "1", "b": "1"}, "")


def test_waits_are_the_same_for_the_same_seed():
    def waits(seed):
        world = World(seed=seed)
        world.api.faults.is_down = True
        return [world.mirror.step() for _ in range(5)]

    assert waits(1) == waits(1)
    assert waits(1) != waits(2)


def test_what_was_seen_stays_while_the_server_is_away_and_gets_old(world):
    world.write("a")
    world.mirror.step()
    world.api.faults.is_down = True
    world.clock.advance(90_000)
    world.mirror.step()
    assert (world.shown(), world.mirror.synced, world.mirror.age_s) == ({"a": "1"}, True, 90.0)
    world.api.faults.is_down = False
    world.mirror.step()
    assert world.mirror.age_s == 0.0
    assert world.news() == [("a", None, "1")]


def test_a_kind_that_is_not_served_is_trouble_until_it_is(world):
    world.api.served.remove(CONFIG_MAP)
    world.mirror.step()
    assert (world.mirror.synced, world.mirror.trouble) == (False, "the server could not find the requested resource")
    world.api.served.add(CONFIG_MAP)
    world.mirror.step()
    assert (world.mirror.synced, world.mirror.trouble) == (True, "")


def test_a_refused_watch_does_not_end_the_mirror(world):
    world.api.faults.fail("watch", "configmaps", error=InvalidError("no such selector"))
    assert world.mirror.step() > 0
    assert world.mirror.trouble == "no such selector"


def test_managed_fields_are_not_kept_and_a_prune_keeps_what_it_names():
    world = World()
    made = world.write("a")
    world.mirror.step()
    kept = world.mirror.get("ns", "a")
    assert "managedFields" in made["metadata"]
    assert kept == {**made, "metadata": {k: v for k, v in made["metadata"].items() if k != "managedFields"}}
    prune = keeping("spec.nodeName", "status.phase", "status.missing", "other.deep")
    pod = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": "n", "x": 1}, "status": {"phase": "R"}}
    assert prune(pod) == {
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"nodeName": "n"},
        "status": {"phase": "R"},
    }


def test_the_snapshot_is_the_same_until_something_changes(world):
    world.write("a")
    world.mirror.step()
    first = world.mirror.items()
    world.mirror.step()
    assert world.mirror.items() is first
    world.write("b")
    world.mirror.step()
    assert len(first) == 1


def test_its_thread_keeps_up_with_a_server_that_drops_watches_and_forgets():
    world = World(Selection(watch_s=60))
    world.mirror.start()
    try:
        assert world.mirror.wait_synced(10)
        for round_ in range(40):
            for number in range(5):
                world.write(f"map-{number}", str(round_ * 5 + number))
            if round_ % 7 == 0:
                world.delete("map-0")
            if round_ in (10, 20):
                world.api.objects.drop_watches()
            if round_ == 20:
                world.api.objects.compact()
        wanted = {f"map-{number}": str(39 * 5 + number) for number in range(5)}
        _wait_until(lambda: world.shown() == wanted)
        _wait_until(lambda: _after(world.told) == wanted)
    finally:
        world.mirror.stop()
    assert not [each for each in threading.enumerate() if each.name == "mirror-configmaps"]


def test_an_idle_mirror_asks_nothing_and_is_stopped_at_once():
    world = World(Selection(watch_s=60))
    world.mirror.start()
    assert world.mirror.wait_synced(10)
    _wait_until(lambda: ("watch", "configmaps", "", "") in world.api.calls)
    calls = len(world.api.calls)
    time.sleep(0.3)
    assert len(world.api.calls) == calls
    began = time.monotonic()
    world.mirror.stop()
    assert time.monotonic() - began < 2
    world.mirror.start()
    world.write("a")
    _wait_until(lambda: world.shown() == {"a": "1"})
    world.mirror.stop()


def test_a_mirror_that_waits_after_failures_is_stopped_at_once():
    world = World()
    world.api.faults.is_down = True
    world.mirror.start()
    time.sleep(0.1)
    began = time.monotonic()
    world.mirror.stop()
    assert time.monotonic() - began < 2
    assert world.mirror.trouble == "connection refused"


def _after(told):
    """What who only listens believes to be there."""
    believed = {}
    for change in list(told):
        if change.after is None:
            del believed[_name(change)]
        else:
            believed[_name(change)] = _value(change.after)
    return believed


def _wait_until(holds):
    ends_at = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < ends_at
        time.sleep(0.01)


def test_a_server_that_ends_each_watch_at_once_is_not_asked_without_end():
    world = World(Selection(watch_s=60))
    waits = []
    for _ in range(3):
        closer = threading.Timer(0.05, world.api.objects.end_watches)
        closer.start()
        waits.append(world.mirror.step())
        closer.join()
    assert 0.25 <= waits[0] <= 0.5 <= waits[1] <= 1 <= waits[2] <= 2
    assert world.verbs() == ["list", "watch", "watch", "watch"]
