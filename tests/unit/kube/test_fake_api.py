"""What the twin of an API server offers to tests beyond the contract: faults, logs, admission, a look at its calls."""

import pytest
from fairgate_scheduler.adapters.kube.api import ForbiddenError, InvalidError, NotFoundError, UnavailableError
from fairgate_scheduler.adapters.kube.api.kinds import CONFIG_MAP, NAMESPACE, POD
from fairgate_scheduler.testing.fake_api import FakeApi

MAP = {"metadata": {"name": "a", "namespace": "ns"}, "data": {"x": "1"}}


@pytest.fixture
def api():
    api = FakeApi()
    api.create(NAMESPACE, {"metadata": {"name": "ns"}})
    api.calls.clear()
    return api


def _is_there(api):
    return [each["metadata"]["name"] for each in api.list(CONFIG_MAP, "ns").items] == ["a"]


@pytest.mark.parametrize(("moment", "is_done"), [("before", False), ("after", True)])
@pytest.mark.parametrize("verb", ["create", "apply"])
def test_the_nth_call_fails_before_or_after_it_took_effect(api, verb, moment, is_done):
    api.faults.fail(verb, "configmaps", nth=2, moment=moment)
    getattr(api, verb)(CONFIG_MAP, {**MAP, "metadata": {"name": "b", "namespace": "ns"}})
    assert api.delete(CONFIG_MAP, "b", "ns")
    with pytest.raises(UnavailableError):
        getattr(api, verb)(CONFIG_MAP, MAP)
    assert _is_there(api) is is_done


def test_a_call_that_fails_by_itself_has_no_other_fault(api):
    api.faults.fail("get", moment="after")
    with pytest.raises(NotFoundError):
        api.get(CONFIG_MAP, "a", "ns")
    api.create(CONFIG_MAP, MAP)
    assert api.get(CONFIG_MAP, "a", "ns")["data"] == {"x": "1"}


def test_admission_changes_and_refuses(api):
    def admit(kind, before, after):
        if after.get("data", {}).get("x") == "bad":
            raise ForbiddenError("not this")
        if before is None and kind == CONFIG_MAP:
            after["data"]["added"] = "yes"

    api.admission.append(admit)
    assert api.create(CONFIG_MAP, MAP)["data"] == {"x": "1", "added": "yes"}
    with pytest.raises(ForbiddenError, match="not this"):
        api.patch(CONFIG_MAP, "a", {"data": {"x": "bad"}}, "ns")
    assert api.get(CONFIG_MAP, "a", "ns")["data"] == {"x": "1", "added": "yes"}


def test_a_pod_has_the_log_that_it_was_given_once_it_runs(api):
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    api.create(POD, {"metadata": {"name": "p", "namespace": "ns"}, "spec": spec})
    with pytest.raises(InvalidError, match="waiting to start"):
        api.read_log("p", "ns")
    api.logs["ns", "p", "c"] = b"hello\n"
    assert (api.read_log("p", "ns"), api.read_log("p", "ns", "c", 2)) == (b"hello\n", b"he")
    api.delete(POD, "p", "ns")
    assert "deletionTimestamp" in api.get(POD, "p", "ns")["metadata"]
    api.finish_pod("ns", "p")
    with pytest.raises(NotFoundError):
        api.get(POD, "p", "ns")


def test_what_is_handed_out_may_be_changed_without_harm(api):
    made = api.create(CONFIG_MAP, MAP)
    made["data"]["x"] = "changed"
    api.list(CONFIG_MAP).items[0]["data"]["x"] = "changed"
    assert api.get(CONFIG_MAP, "a", "ns")["data"] == {"x": "1"}
    assert MAP["data"] == {"x": "1"}


def test_calls_are_written_down(api):
    api.acting_as("someone").create(CONFIG_MAP, MAP)
    api.watch(CONFIG_MAP, "1", timeout_s=0)
    assert api.calls == [("create", "configmaps", "ns", "a"), ("watch", "configmaps", "", "")]


def test_owners_of_fields_are_told_as_a_server_tells_them(api):
    api.apply(CONFIG_MAP, MAP)
    api.acting_as("someone").patch(CONFIG_MAP, "a", {"metadata": {"finalizers": ["e.com/f"]}}, "ns")
    told = api.get(CONFIG_MAP, "a", "ns")["metadata"]["managedFields"]
    assert [(each["manager"], each["operation"], each["fieldsV1"]) for each in told] == [
        ("fairgate", "Apply", {"f:data": {"f:x": {}}}),
        ("someone", "Update", {"f:metadata": {"f:finalizers": {'v:"e.com/f"': {}}}}),
    ]
