"""The live world: what was admitted passes and not one pod more; what can not be read is refused."""

import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest
from fairgate_admission.facts.world import LookupFailedError
from fairgate_admission.live.books import Books
from fairgate_scheduler.adapters.kube.api.kinds import RAY_JOB
from fairgate_scheduler.adapters.kube.attempts import attempt_names
from fairgate_scheduler.core.jobs import AttemptState, JobState
from fairgate_scheduler.ports import StoreError
from fairgate_scheduler.testing.memory_store import MemoryStore

KUBERAY = "system:serviceaccount:kuberay-system:kuberay-operator"
SCHEDULER = "system:serviceaccount:fairgate-system:fairgate-scheduler"


def rules(judgement):
    return [each.rule for each in judgement.verdict.denials]


def test_the_pods_of_an_attempt_pass_and_not_one_more(place):
    cluster = place.run()
    first = place.ask(place.pod(cluster, "w-1"))
    assert (first.verdict.message, first.tenant, first.reservation) == ("", "vision", "train-1")
    place.add_pod(cluster, "w-1")
    assert place.ask(place.pod(cluster, "w-2")).verdict.allowed
    place.add_pod(cluster, "w-2")
    assert rules(place.ask(place.pod(cluster, "w-3"))) == ["FG-POD-004"]


def test_the_scheduler_makes_what_was_reserved_and_nothing_else(place):
    assert place.ask(place.rayjob, SCHEDULER).verdict.message == ""
    other = place.rayjob
    other["spec"]["entrypoint"] = "python mine.py"
    assert rules(place.ask(other, SCHEDULER)) == ["FG-RAY-008"]
    other = place.rayjob
    other["metadata"]["name"] = "train-2"
    assert rules(place.ask(other, SCHEDULER)) == ["FG-RAY-008"]


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": {"fairgate.internal/attempt": "1", "fairgate.internal/job-uid": "another"}},
        {"labels": {"fairgate.internal/attempt": "2", "fairgate.internal/job-uid": "u-train"}},
        {"labels": {}},
    ],
)
def test_a_rayjob_of_the_right_name_that_is_not_the_attempt_gives_nothing(place, changes):
    manifest = place.rayjob
    manifest["metadata"] = {**manifest["metadata"], **changes}
    made = place.api.create(RAY_JOB, manifest)
    cluster = {"metadata": {"name": "c", "namespace": "vision"}, "spec": made["spec"]["rayClusterSpec"]}
    metadata = {"name": "c", "namespace": "vision", "ownerReferences": [place.owner("RayJob", made)]}
    assert "FG-LIN-005" in rules(
        place.ask({"apiVersion": "ray.io/v1", "kind": "RayCluster", **cluster, "metadata": metadata})
    )


def test_an_attempt_that_was_changed_in_the_cluster_gives_nothing(place):
    cluster = place.run()
    place.api.patch(RAY_JOB, "train-1", {"spec": {"entrypoint": "python mine.py"}}, "vision")
    assert rules(place.ask(place.pod(cluster, "w-1"))) == ["FG-LIN-005"]


@pytest.mark.parametrize(
    ("changes", "is_allowed"),
    [
        ({"state": AttemptState.RESERVED}, True),
        ({"state": AttemptState.STOPPING}, True),
        ({"state": AttemptState.STOPPING, "holds_quota": False}, False),
        ({"state": AttemptState.GONE, "holds_quota": False}, False),
    ],
)
def test_pods_come_only_while_the_attempt_holds_quota(place, changes, is_allowed):
    cluster = place.run()
    place.change_attempt(**changes)
    assert place.ask(place.pod(cluster, "w-1")).verdict.allowed is is_allowed


def test_an_attempt_whose_name_was_taken_is_found(place):
    assert place.books.admitted("vision", "train-1").number == 1
    assert place.books.admitted("vision", "train-00001") is None
    assert place.books.admitted("vision", "train") is None
    assert place.books.admitted("nlp", "train-1") is None
    assert place.books.admitted("vision", unique(place)).reservation.rayjob == unique(place)


def unique(place):
    return attempt_names(place.launch.job.id, place.launch.job.uid, 1)[1]


@pytest.mark.parametrize(
    ("verb", "plural"),
    [("get", "namespaces"), ("get", "rayclusters"), ("get", "rayjobs"), ("list", "pods"), ("list", "jobs")],
)
def test_a_look_up_that_fails_is_a_refusal(place, verb, plural):
    cluster = place.run()
    place.api.faults.fail(verb, plural)
    assert rules(place.ask(place.pod(cluster, "w-1"))) == ["FG-LOOK-001"]
    assert place.ask(place.pod(cluster, "w-1")).verdict.allowed, "it recovers by itself"


def test_a_store_that_fails_is_a_refusal(place):
    class Broken(MemoryStore):
        @contextmanager
        def transaction(self, *, read_only=False):
            raise StoreError("no disk")
            yield

    place.books = Books(Broken())
    [denial] = place.ask(pod_without_devices(), "user-a").verdict.denials
    assert denial.rule == "FG-LOOK-001"
    assert "the store can not be read" in denial.found


def test_a_store_that_is_slow_is_a_refusal_in_time_and_it_recovers(place):
    gate = threading.Event()

    class Slow(MemoryStore):
        @contextmanager
        def transaction(self, *, read_only=False):
            gate.wait(10)
            with place.store.transaction(read_only=read_only) as transaction:
                yield transaction

    books = Books(Slow(), deadline_s=0.1)
    began_s = time.monotonic()
    with pytest.raises(LookupFailedError, match="the store is too slow"):
        books.tenants()
    assert time.monotonic() - began_s < 2
    gate.set()
    assert books.tenants() == {"vision": "vision", "nlp": "nlp"}
    books.close()


def pod_without_devices():
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "vision"}, "spec": {}}


def test_whoever_applies_a_request_is_told_what_he_waits_for(place):
    request = place.launch.manifest | {
        "metadata": {"name": "mine", "namespace": "vision", "labels": {"kueue.x-k8s.io/queue-name": "inbox"}}
    }
    judgement = place.ask(request, "user-a")
    assert judgement.verdict.message == ""
    assert judgement.warnings == ("Fairgate: it is a request and waits its turn; 0 jobs of vision wait already",)
    with place.store.transaction() as transaction:
        job = transaction.get_job(place.launch.job.id)
        transaction.update_job(replace(job, started_at_ms=90_000, version=job.version + 1, state=JobState.RUNNING))
    assert "half waited less than 1m30s" in place.ask(request, "user-a").warnings[1]


def test_what_can_not_be_read_is_refused(place):
    assert rules(place.judge({"operation": "CREATE", "username": KUBERAY})) == ["FG-REQ-001"]
