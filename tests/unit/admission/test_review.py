"""What attack files can not say: unreadable requests, messages, live configuration, names that others use too."""

from graphlib import TopologicalSorter

import pytest
from fairgate_admission.facts import names
from fairgate_admission.facts.identities import CHILDREN
from fairgate_admission.facts.owners import controller_of, references
from fairgate_admission.facts.request import read_request
from fairgate_admission.facts.world import AdmittedGroup, Reservation, Settings
from fairgate_admission.review import review, review_fields
from fairgate_scheduler.adapters.kube import names as kube_names
from fairgate_scheduler.core.manifests import ManifestError
from fairgate_scheduler.testing.rayjobs import GPU, container, fleet, group, ray_job, template

UID = "11111111-1111-1111-1111-111111111111"


def pod(*containers, **metadata):
    made = template(*(containers or [container()]))
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "t1", **metadata}, **made}


def deep(levels):
    out: dict[str, object] = {}
    for _ in range(levels):
        out = {"a": out}
    return out


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"operation": "CREATE", "username": "u"},
        {"operation": "PATCH", "username": "u", "object": pod()},
        {"operation": "UPDATE", "username": "u", "object": pod()},
        {"operation": "CREATE", "username": "u", "object": {**pod(), "spec": deep(80)}},
        {"operation": "CREATE", "username": "u", "object": ["Pod"]},
    ],
)
def test_what_can_not_be_read_is_refused(fields, world):
    assert review_fields(fields, world()).rule == "FG-REQ-001"


def test_a_refusal_names_rule_field_finding_and_remedy(world, request_of):
    verdict = review(request_of(pod(container(), container("b", limits={GPU: 2}))), world())
    assert verdict.message == (
        'Pod "p" is refused by Fairgate:\n'
        "[FG-POD-001] asks for nvidia.com/gpu=2 outside of an admitted RayJob (field spec.containers[1].resources); "
        "run it as a RayJob: `fairgate submit -f FILE`, or apply it with the label kueue.x-k8s.io/queue-name: inbox"
    )
    assert not verdict.allowed


def test_every_reason_is_told_at_once(world, request_of):
    wrong = pod(container(limits={GPU: 1}, env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]))
    wrong["spec"] |= {"nodeName": "n", "schedulerName": "mine"}
    rules = [denial.rule for denial in review(request_of(wrong), world()).denials]
    assert rules == ["FG-CHAN-001", "FG-PLACE-001", "FG-PLACE-002", "FG-POD-001"]


def test_an_allowed_request_says_nothing(world, request_of):
    verdict = review(request_of(pod()), world())
    assert (verdict.allowed, verdict.message, verdict.rule) == (True, "", "")


def test_nobody_learns_who_else_there_is(world, request_of):
    """The reservation of another tenant is no reservation, and its name is not told."""
    secret = Reservation("secret", "train", UID, {"gpu": AdmittedGroup(1, 1, {GPU: 8})})
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "train", "uid": UID, "controller": True}
    cluster = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "c", "namespace": "t1", "ownerReferences": [owner]},
        "spec": ray_job(group("gpu", 1, {GPU: 8}))["spec"]["rayClusterSpec"],
    }
    caller = "system:serviceaccount:kuberay-system:kuberay-operator"
    verdict = review(
        request_of(cluster, username=caller), world(tenants={"t1": "t1", "x": "secret"}, admitted=(secret,))
    )
    assert verdict.rule == "FG-LIN-005"
    assert "secret" not in verdict.message


def test_a_request_is_checked_as_a_submission_is(world, request_of):
    """With a configuration in force: flavors, options and service accounts, in the words of the submission."""
    live = world(tenants={"t1": "nlp"})
    config = fleet()

    class Configured(type(live)):
        @property
        def config(self):
            return config

    there = Configured(live.setting)
    job = ray_job(group("gpu", 1, {"amd.com/gpu": 1}))
    job["metadata"] = {"name": "j", "namespace": "t1", "labels": {names.QUEUE: "inbox"}}
    verdict = review(request_of(job), there)
    assert [(denial.rule, denial.found) for denial in verdict.denials] == [
        ("FG-RAY-003", "no flavor offers amd.com/gpu")
    ]
    job["spec"]["rayClusterSpec"]["workerGroupSpecs"] = [group("gpu", 1, {GPU: 1})]
    assert review(request_of(job), there).allowed
    job["metadata"]["annotations"] = {"fairgate.internal/options": "- flavor: nothing\n"}
    assert review(request_of(job), there).denials[0].field == "options[0].flavor"


def test_what_is_there_already_is_not_read_again(world, request_of):
    """Our scheduler mirrors its progress to a request; who applies the file again is not to blame for that."""
    old = ray_job(group("gpu", 1, {GPU: 1}), suspend=True)
    old["metadata"] = {
        "name": "j",
        "namespace": "t1",
        "labels": {names.QUEUE: "inbox"},
        "annotations": {"fairgate.internal/state": "RUNNING"},
    }
    new = {**old, "spec": {**old["spec"], "entrypoint": "python b.py"}}
    assert review(request_of(new, old=old, operation="UPDATE"), world()).allowed


def test_no_kind_is_above_itself():
    """So the way from owner to owner always ends."""
    above = {kind: {owner for _, owner in owners} for kind, owners in CHILDREN.items()}
    TopologicalSorter(above).prepare()


def test_a_namespace_that_is_labelled_for_somebody_else_is_not_believed(world, request_of):
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "t1", "labels": {names.TENANT: "other"}}}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    request = request_of(
        pod(container(limits={GPU: 1}), ownerReferences=[owner]),
        username="system:serviceaccount:kube-system:job-controller",
    )
    verdict = review(request, world(objects=(namespace,)))
    assert (verdict.rule, "other" in verdict.message.replace("another", "")) == ("FG-LIN-005", False)


def test_admins_can_allow_more(world, request_of):
    settings = Settings(schedulers=("mine",), runtime_classes=("gvisor",), priority_classes=("urgent",))
    asking = pod()
    asking["spec"] |= {"schedulerName": "mine", "runtimeClassName": "gvisor", "priorityClassName": "urgent"}
    assert not review(request_of(asking), world()).allowed
    assert review(request_of(asking), world(settings=settings)).allowed
    asking["spec"]["priorityClassName"] = "system-node-critical"
    assert not review(request_of(asking), world(settings=Settings(priority_classes=("system-node-critical",)))).allowed


def test_a_request_is_about_what_is_deleted():
    read = read_request({"operation": "DELETE", "username": "u", "object": pod()})
    assert (read.object, read.kind, read.name, read.namespace) == ({}, "Pod", "p", "t1")
    with pytest.raises(ManifestError):
        read_request({"operation": "DELETE", "username": "u"})


def test_controllers_are_one_or_none():
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    assert controller_of(pod(ownerReferences=[owner])).owner == ("batch", "Job")
    assert controller_of(pod(ownerReferences=[owner, {**owner, "name": "k"}])) is None
    assert controller_of(pod(ownerReferences=[{**owner, "controller": "true"}])) is None
    assert references(pod(ownerReferences=["x"])) == ()


def test_the_names_are_those_that_our_scheduler_writes():
    assert (names.QUEUE, names.TENANT, names.ATTEMPT, names.DIGEST) == (
        kube_names.QUEUE_LABEL,
        kube_names.TENANT,
        kube_names.ATTEMPT,
        kube_names.DIGEST,
    )
    assert (Settings().inbox, Settings().launch) == (kube_names.INBOX_QUEUE, kube_names.LAUNCH_QUEUE)
