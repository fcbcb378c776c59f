"""The sweeper: pods within their reservation are let be, those outside are told of, and ended where admins say so."""

import io
import json

import pytest
from fairgate_admission.facts.world import Settings
from fairgate_admission.server.audit import Audit
from fairgate_admission.server.metrics import Metrics
from fairgate_admission.sweeper.sweeper import Sweeper
from fairgate_scheduler.adapters.kube.api.kinds import EVENT, NAMESPACE, POD
from fairgate_scheduler.core.jobs import AttemptState
from fairgate_scheduler.testing.rayjobs import GPU


@pytest.fixture
def audit():
    return io.StringIO()


@pytest.fixture
def sweeper(place, audit):
    outlets = (Audit(place.clock, audit), Metrics())
    return Sweeper(place.api, place.books, Settings(), place.clock, outlets)


def names(sight):
    return [each.pod["metadata"]["name"] for each in sight.strays]


def bare(namespace, name="bare"):
    container = {"name": "c", "image": "x", "resources": {"limits": {GPU: "1"}}}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"containers": [container]}}


def test_the_oldest_are_those_that_were_admitted(place, sweeper):
    cluster = place.run()
    for name in ("w-c", "w-b", "w-a"):
        place.add_pod(cluster, name)
        place.clock.advance(1_000)
    assert names(sweeper.sweep()) == ["w-a"]
    place.api.finish_pod("vision", "w-c")
    assert names(sweeper.sweep()) == []


def test_pods_of_nobody_and_of_no_tenant_are_outside(place, sweeper, audit):
    place.run()
    place.api.create(NAMESPACE, {"metadata": {"name": "default"}})
    place.api.create(POD, bare("vision"))
    place.api.create(POD, bare("default"))
    plain = bare("vision", "plain")
    plain["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1"}}
    place.api.create(POD, plain)
    found = sweeper.sweep()
    assert sorted((each.tenant, each.denials[0].rule) for each in found.strays) == [
        ("", "FG-NS-001"),
        ("vision", "FG-LIN-001"),
    ]
    assert found.looked_at == 2
    lines = [json.loads(line) for line in audit.getvalue().splitlines()]
    assert {(each["verb"], each["namespace"], each["verdict"]) for each in lines} == {
        ("SWEEP", "vision", "outside"),
        ("SWEEP", "default", "outside"),
    }
    events = place.api.list(EVENT).items
    assert {each["reason"] for each in events} == {"OutsideOfReservation"}
    assert len(events) == 2
    sweeper.sweep()
    assert len(place.api.list(EVENT).items) == 2, "told once"


def test_a_pod_outside_is_ended_where_admins_say_so_when_it_is_seen_twice(place, sweeper):
    sweeper.ends_in = frozenset({"vision"})
    place.api.create(POD, bare("vision"))
    place.api.create(POD, bare("nlp"))
    sweeper.sweep()
    assert len(place.api.list(POD).items) == 2
    sweeper.sweep()
    there = [each for each in place.api.list(POD).items if "deletionTimestamp" not in each["metadata"]]
    assert [each["metadata"]["namespace"] for each in there] == ["nlp"]


def test_an_evicted_attempt_is_not_outside_while_it_is_on_its_way_out(place, sweeper):
    place.add_pod(place.run(), "w-1")
    place.change_attempt(state=AttemptState.STOPPING, holds_quota=False)
    assert names(sweeper.sweep()) == []
    place.change_attempt(state=AttemptState.GONE, holds_quota=False)
    assert names(sweeper.sweep()) == ["w-1"]


def test_what_can_not_be_judged_is_neither_outside_nor_ended(place, sweeper):
    place.add_pod(place.run(), "w-1")
    sweeper.ends_in = frozenset({"*"})
    for _ in range(3):
        place.api.faults.fail("get", "rayclusters")
        found = sweeper.sweep()
        assert found.strays == ()
        assert found.unknown == ("vision/w-1",)
    assert "deletionTimestamp" not in place.api.get(POD, "w-1", "vision")["metadata"]
