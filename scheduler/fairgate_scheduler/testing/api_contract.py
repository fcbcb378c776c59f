"""What every ``Api`` must do, as one suite: subclass ``ApiContract`` in a test module and give it a ``rig``.

It needs an API server with the definitions of KubeRay's and Kueue's kinds and the controllers of Kubernetes; no nodes.
KubeRay and Kueue may run, and have nothing to do with it.
"""

import pytest

from fairgate_scheduler.adapters.kube.api import (
    GoneError,
    InvalidError,
    Kind,
    NotFoundError,
)
from fairgate_scheduler.adapters.kube.api.kinds import CONFIG_MAP, POD, RAY_JOB
from fairgate_scheduler.testing.api_contract_apply import ApplyContract, GarbageContract
from fairgate_scheduler.testing.api_contract_writes import WritingContract
from fairgate_scheduler.testing.api_rig import ApiContract, Rig, config_map, pod, seen, version_of

_UNKNOWN = Kind("nowhere.example.com", "v1", "Thing", "things")


class ReadingContract(ApiContract):
    """Get, list and watch."""

    def test_what_was_created_is_read(self, rig: Rig) -> None:
        made = rig.api.create(CONFIG_MAP, config_map(rig, "", {"a": "1"}))
        assert rig.api.get(CONFIG_MAP, made["metadata"]["name"], rig.namespace) == made
        assert (made["apiVersion"], made["kind"], made["data"]) == ("v1", "ConfigMap", {"a": "1"})
        assert made["metadata"]["uid"]
        assert made["metadata"]["creationTimestamp"].endswith("Z")

    def test_what_is_not_there_is_not_found(self, rig: Rig) -> None:
        with pytest.raises(NotFoundError) as error:
            rig.api.get(CONFIG_MAP, "missing", rig.namespace)
        assert error.value.reason == "NotFound"
        with pytest.raises(NotFoundError):
            rig.api.list(_UNKNOWN)

    def test_an_object_without_its_namespace_is_a_mistake_of_ours(self, rig: Rig) -> None:
        with pytest.raises(ValueError, match="a ConfigMap has a namespace"):
            rig.api.get(CONFIG_MAP, "a")
        with pytest.raises(ValueError, match="a ConfigMap has a namespace"):
            rig.api.create(CONFIG_MAP, {"metadata": {"name": "a"}})

    def test_a_list_has_all_objects_with_their_kind(self, rig: Rig) -> None:
        names = [
            rig.api.create(CONFIG_MAP, config_map(rig, labels={"in": "list"}))["metadata"]["name"] for _ in "12345"
        ]
        found = rig.api.list(CONFIG_MAP, rig.namespace, "in=list")
        assert sorted(each["metadata"]["name"] for each in found.items) == sorted(names)
        assert {(each["apiVersion"], each["kind"]) for each in found.items} == {("v1", "ConfigMap")}
        assert rig.api.list(CONFIG_MAP, "elsewhere").items == ()

    @pytest.mark.parametrize(
        ("selector", "names"),
        [
            ("color=red", ["red"]),
            ("color==red,shape", ["red"]),
            ("color!=red,set=one", ["blue", "none"]),
            ("color in (red, blue)", ["blue", "red"]),
            ("color notin (red),set=one", ["blue", "none"]),
            ("color", ["blue", "red"]),
            ("!color,set=one", ["none"]),
        ],
    )
    def test_labels_select(self, rig: Rig, selector: str, names: list[str]) -> None:
        labels = {"red": {"color": "red", "shape": ""}, "blue": {"color": "blue"}, "none": {}}
        for name, its in labels.items():
            rig.api.apply(CONFIG_MAP, config_map(rig, name, labels={**its, "set": "one"}))
        found = rig.api.list(CONFIG_MAP, rig.namespace, selector).items
        assert sorted(each["metadata"]["name"] for each in found) == names

    def test_a_selector_that_is_none_is_refused(self, rig: Rig) -> None:
        with pytest.raises(InvalidError, match="unable to parse requirement"):
            rig.api.list(CONFIG_MAP, rig.namespace, "color in (")

    def test_a_watch_tells_what_came_after_the_list(self, rig: Rig) -> None:
        before = rig.api.list(CONFIG_MAP, rig.namespace)
        name = rig.api.create(CONFIG_MAP, config_map(rig))["metadata"]["name"]
        changed = rig.api.patch(CONFIG_MAP, name, {"data": {"a": "1"}}, rig.namespace)
        assert rig.api.delete(CONFIG_MAP, name, rig.namespace)
        events = list(rig.api.watch(CONFIG_MAP, before.resource_version, rig.namespace, timeout_s=0))
        assert seen(events) == [("ADDED", name), ("MODIFIED", name), ("DELETED", name)]
        assert events[1].object == changed
        assert events[2].object["data"] == {"a": "1"}
        later = rig.api.watch(CONFIG_MAP, version_of(events[1].object), rig.namespace, timeout_s=0)
        assert seen(list(later)) == [("DELETED", name)]

    def test_a_watch_goes_on_from_the_last_event(self, rig: Rig) -> None:
        version = rig.api.list(CONFIG_MAP, rig.namespace).resource_version
        name = rig.api.create(CONFIG_MAP, config_map(rig))["metadata"]["name"]
        first = list(rig.api.watch(CONFIG_MAP, version, rig.namespace, timeout_s=0))
        again = list(rig.api.watch(CONFIG_MAP, version_of(first[-1].object), rig.namespace, timeout_s=0))
        assert (seen(first), seen(again)) == ([("ADDED", name)], [])

    def test_a_watch_with_labels_sees_objects_come_and_go(self, rig: Rig) -> None:
        version = rig.api.list(CONFIG_MAP, rig.namespace).resource_version
        name = rig.api.create(CONFIG_MAP, config_map(rig))["metadata"]["name"]
        for value in ("yes", "no", "yes"):
            rig.api.patch(CONFIG_MAP, name, {"metadata": {"labels": {"mine": value}}}, rig.namespace)
        events = list(rig.api.watch(CONFIG_MAP, version, rig.namespace, "mine=yes", timeout_s=0))
        assert seen(events) == [("ADDED", name), ("DELETED", name), ("ADDED", name)]

    def test_a_watch_waits_and_is_closed_by_another_thread(self, rig: Rig) -> None:
        version = rig.api.list(CONFIG_MAP, rig.namespace).resource_version
        watch = rig.api.watch(CONFIG_MAP, version, rig.namespace, timeout_s=60)
        name = rig.api.create(CONFIG_MAP, config_map(rig))["metadata"]["name"]
        assert seen([next(watch)]) == [("ADDED", name)]
        watch.close()
        assert list(watch) == []

    def test_a_version_that_is_too_old_is_gone(self, rig: Rig) -> None:
        version = rig.expired_version()
        with pytest.raises(GoneError):
            list(rig.api.watch(RAY_JOB, version, rig.namespace, timeout_s=0))

    def test_of_a_pod_without_a_node_there_is_no_log(self, rig: Rig) -> None:
        made = rig.api.create(POD, pod(rig, [{"name": "a", "image": "a"}]))
        assert rig.api.read_log(made["metadata"]["name"], rig.namespace) == b""
        two = rig.api.create(POD, pod(rig, [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]))
        with pytest.raises(InvalidError, match="a container name must be specified"):
            rig.api.read_log(two["metadata"]["name"], rig.namespace)
        with pytest.raises(NotFoundError):
            rig.api.read_log("missing", rig.namespace)


class FullApiContract(ReadingContract, WritingContract, ApplyContract, GarbageContract):
    """All of it."""
