"""What every ``Api`` must do when something is applied, and what clusters clear away; a part of ``api_contract``."""

from collections.abc import Sequence
from typing import Any

import pytest

from fairgate_scheduler.adapters.kube.api import (
    ApiError,
    ConflictError,
    Manifest,
    NotFoundError,
)
from fairgate_scheduler.adapters.kube.api.kinds import CONFIG_MAP, NAMESPACE, RAY_JOB, RESOURCE_FLAVOR
from fairgate_scheduler.testing.api_rig import NUMBERS, ApiContract, Rig, config_map, ray_job


class ApplyContract(ApiContract):
    """Server-side apply."""

    def test_it_creates_and_then_changes(self, rig: Rig) -> None:
        made = rig.api.apply(CONFIG_MAP, config_map(rig, "", {"a": "1"}))
        name = made["metadata"]["name"]
        changed = rig.api.apply(CONFIG_MAP, config_map(rig, name, {"a": "2"}))
        assert changed["metadata"]["uid"] == made["metadata"]["uid"]
        assert changed["data"] == {"a": "2"}

    def test_a_dry_run_changes_nothing(self, rig: Rig) -> None:
        manifest = config_map(rig, "", {"a": "1"})
        assert rig.api.apply(CONFIG_MAP, manifest, dry_run=True)["data"] == {"a": "1"}
        with pytest.raises(NotFoundError):
            rig.api.get(CONFIG_MAP, manifest["metadata"]["name"], rig.namespace)
        made = rig.api.apply(CONFIG_MAP, manifest)
        assert rig.api.apply(CONFIG_MAP, {**manifest, "data": {"a": "2"}}, dry_run=True)["data"] == {"a": "2"}
        assert rig.api.get(CONFIG_MAP, manifest["metadata"]["name"], rig.namespace) == made

    def test_what_is_no_longer_applied_is_removed_and_what_others_wrote_stays(self, rig: Rig) -> None:
        labels = {"a": "1", "b": "2"}
        name = rig.api.apply(CONFIG_MAP, config_map(rig, "", {"a": "1", "b": "2"}, labels=labels))["metadata"]["name"]
        rig.other.patch(CONFIG_MAP, name, {"data": {"c": "3"}}, rig.namespace)
        left = rig.api.apply(CONFIG_MAP, config_map(rig, name, {"a": "1"}))
        assert left["data"] == {"a": "1", "c": "3"}
        assert "labels" not in left["metadata"]

    def test_another_managers_field_is_a_conflict_unless_forced(self, rig: Rig) -> None:
        name = rig.api.apply(CONFIG_MAP, config_map(rig, "", {"a": "1"}))["metadata"]["name"]
        rig.other.patch(CONFIG_MAP, name, {"data": {"a": "2"}}, rig.namespace)
        with pytest.raises(ConflictError, match=r"conflict with \"someone\".*: \.data\.a") as error:
            rig.api.apply(CONFIG_MAP, config_map(rig, name, {"a": "1"}))
        assert error.value.reason == "Conflict"
        assert rig.api.apply(CONFIG_MAP, config_map(rig, name, {"a": "1"}), force=True)["data"] == {"a": "1"}
        assert rig.api.apply(CONFIG_MAP, config_map(rig, name, {"a": "3"}))["data"] == {"a": "3"}

    def test_what_two_apply_alike_both_own(self, rig: Rig) -> None:
        name = rig.api.apply(CONFIG_MAP, config_map(rig, "", {"a": "1"}))["metadata"]["name"]
        rig.other.apply(CONFIG_MAP, config_map(rig, name, {"a": "1"}))
        assert rig.api.apply(CONFIG_MAP, config_map(rig, name, {}))["data"] == {"a": "1"}
        with pytest.raises(ConflictError):
            rig.api.apply(CONFIG_MAP, config_map(rig, name, {"a": "2"}))

    def test_our_own_patch_is_another_managers_to_an_apply(self, rig: Rig) -> None:
        name = rig.api.apply(CONFIG_MAP, config_map(rig, "", {"a": "1"}))["metadata"]["name"]
        rig.api.patch(CONFIG_MAP, name, {"data": {"a": "2"}}, rig.namespace)
        with pytest.raises(ConflictError):
            rig.api.apply(CONFIG_MAP, config_map(rig, name, {"a": "1"}))

    def test_lists_with_keys_are_merged_and_others_replaced(self, rig: Rig) -> None:
        manifest = _cluster_job(rig, [{"name": "head", "image": "one", "args": ["a", "b"]}])
        name = rig.api.apply(RAY_JOB, manifest)["metadata"]["name"]
        path = manifest["metadata"]
        other = _cluster_job(rig, [{"name": "sidecar", "image": "two"}])
        rig.other.apply(RAY_JOB, {**other, "metadata": path})
        changed = _cluster_job(rig, [{"name": "head", "image": "three", "args": ["c"]}])
        rig.api.apply(RAY_JOB, {**changed, "metadata": path})
        assert _containers(rig, name) == [
            {"name": "head", "image": "three", "args": ["c"]},
            {"name": "sidecar", "image": "two"},
        ]
        rig.other.apply(RAY_JOB, {**_cluster_job(rig, [{"name": "sidecar"}]), "metadata": path})
        assert _containers(rig, name)[1] == {"name": "sidecar"}
        rig.api.apply(RAY_JOB, {**_cluster_job(rig, []), "metadata": path})
        assert _containers(rig, name) == [{"name": "sidecar"}]

    def test_an_item_goes_with_what_others_changed_in_it(self, rig: Rig) -> None:
        manifest = _cluster_job(rig, [{"name": "head", "image": "one"}, {"name": "sidecar", "image": "one"}])
        name = rig.api.apply(RAY_JOB, manifest)["metadata"]["name"]
        changed = _cluster_job(rig, [{"name": "head", "image": "one"}, {"name": "sidecar", "image": "two"}])
        rig.other.patch(RAY_JOB, name, {"spec": changed["spec"]}, rig.namespace)
        left = _cluster_job(rig, [{"name": "head", "image": "one"}])
        rig.api.apply(RAY_JOB, {**left, "metadata": manifest["metadata"]})
        assert _containers(rig, name) == [{"name": "head", "image": "one"}]

    def test_what_nobody_owns_is_somebodys_once_it_is_applied_to(self, rig: Rig) -> None:
        name = rig.api.create(CONFIG_MAP, config_map(rig))["metadata"]["name"]
        rig.other.patch(CONFIG_MAP, name, {"data": {"a": "2"}}, rig.namespace)
        with pytest.raises(ConflictError, match="before-first-apply"):
            rig.api.apply(CONFIG_MAP, config_map(rig, name, {"a": "1"}))

    def test_a_map_that_is_one_value_is_replaced(self, rig: Rig) -> None:
        name = f"flavor-{next(NUMBERS)}"
        try:
            manifest = {"metadata": {"name": name}, "spec": {"nodeLabels": {"a": "1", "b": "2"}}}
            rig.api.apply(RESOURCE_FLAVOR, manifest)
            changed = rig.api.apply(RESOURCE_FLAVOR, {**manifest, "spec": {"nodeLabels": {"c": "3"}}})
            assert changed["spec"]["nodeLabels"] == {"c": "3"}
            rig.other.patch(RESOURCE_FLAVOR, name, {"spec": {"nodeLabels": {"d": "4"}}})
            with pytest.raises(ConflictError, match=r"\.spec\.nodeLabels"):
                rig.api.apply(RESOURCE_FLAVOR, manifest)
        finally:
            rig.api.delete(RESOURCE_FLAVOR, name)

    def test_finalizers_and_owners_of_others_stay(self, rig: Rig) -> None:
        owner = rig.api.create(CONFIG_MAP, config_map(rig))
        manifest = config_map(rig, ownerReferences=[_reference(owner)], finalizers=["example.com/one"])
        name = rig.api.apply(CONFIG_MAP, manifest)["metadata"]["name"]
        theirs = rig.other.apply(CONFIG_MAP, config_map(rig, name, finalizers=["example.com/two"]))
        assert sorted(theirs["metadata"]["finalizers"]) == ["example.com/one", "example.com/two"]
        left = rig.api.apply(CONFIG_MAP, config_map(rig, name))["metadata"]
        assert left["finalizers"] == ["example.com/two"]
        assert "ownerReferences" not in left
        rig.other.apply(CONFIG_MAP, config_map(rig, name))


class GarbageContract(ApiContract):
    """What a cluster clears away by itself."""

    def test_what_an_owner_leaves_behind_is_collected(self, rig: Rig) -> None:
        owner = rig.api.create(RAY_JOB, ray_job(rig, "one"))
        other = rig.api.create(RAY_JOB, ray_job(rig, "one"))
        child = _create_owned(rig, owner)
        grandchild = _create_owned(rig, rig.api.get(CONFIG_MAP, child, rig.namespace))
        shared = _create_owned(rig, owner, other)
        rig.api.delete(RAY_JOB, owner["metadata"]["name"], rig.namespace)
        rig.wait_until(lambda: not _is_there(rig, child) and not _is_there(rig, grandchild))
        assert _is_there(rig, shared)

    def test_in_the_foreground_an_owner_goes_last(self, rig: Rig) -> None:
        owner = rig.api.create(RAY_JOB, ray_job(rig, "one"))
        name = owner["metadata"]["name"]
        child = _create_owned(rig, owner, finalizers=["example.com/one"])
        rig.api.delete(RAY_JOB, name, rig.namespace, propagation="Foreground")
        rig.wait_until(lambda: "deletionTimestamp" in rig.api.get(CONFIG_MAP, child, rig.namespace)["metadata"])
        assert rig.api.get(RAY_JOB, name, rig.namespace)["metadata"]["finalizers"] == ["foregroundDeletion"]
        rig.api.patch(CONFIG_MAP, child, {"metadata": {"finalizers": None}}, rig.namespace)
        rig.wait_until(lambda: not _has(rig, name))

    def test_a_namespace_goes_with_all_that_is_in_it(self, rig: Rig) -> None:
        namespace = f"{rig.namespace}-{next(NUMBERS)}"
        assert rig.api.create(NAMESPACE, {"metadata": {"name": namespace}})["status"] == {"phase": "Active"}
        kept = config_map(rig, "kept", namespace=namespace, finalizers=["example.com/one"])
        rig.api.create(CONFIG_MAP, kept)
        rig.api.delete(NAMESPACE, namespace)
        assert rig.api.get(NAMESPACE, namespace)["status"]["phase"] == "Terminating"
        with pytest.raises(ApiError, match="terminated"):
            rig.api.create(CONFIG_MAP, config_map(rig, namespace=namespace))
        rig.wait_until(lambda: "deletionTimestamp" in rig.api.get(CONFIG_MAP, "kept", namespace)["metadata"])
        rig.api.patch(CONFIG_MAP, "kept", {"metadata": {"finalizers": None}}, namespace)
        rig.wait_until(lambda: namespace not in {each["metadata"]["name"] for each in rig.api.list(NAMESPACE).items})


def _cluster_job(rig: Rig, containers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    template = {"template": {"spec": {"containers": list(containers)}}, "rayStartParams": {}}
    job = ray_job(rig, "one")
    return {**job, "spec": {**job["spec"], "rayClusterSpec": {"headGroupSpec": template}}}


def _containers(rig: Rig, name: str) -> list[dict[str, Any]]:
    spec = rig.api.get(RAY_JOB, name, rig.namespace)["spec"]["rayClusterSpec"]
    found: list[dict[str, Any]] = spec["headGroupSpec"]["template"]["spec"]["containers"]
    return found


def _reference(owner: Manifest) -> dict[str, Any]:
    named = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], **named, "blockOwnerDeletion": True}


def _create_owned(rig: Rig, *owners: Manifest, **metadata: Any) -> str:
    references = [_reference(owner) for owner in owners]
    return str(rig.api.create(CONFIG_MAP, config_map(rig, ownerReferences=references, **metadata))["metadata"]["name"])


def _is_there(rig: Rig, name: str) -> bool:
    return name in {each["metadata"]["name"] for each in rig.api.list(CONFIG_MAP, rig.namespace).items}


def _has(rig: Rig, name: str) -> bool:
    return name in {each["metadata"]["name"] for each in rig.api.list(RAY_JOB, rig.namespace).items}
