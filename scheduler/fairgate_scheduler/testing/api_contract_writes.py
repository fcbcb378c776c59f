"""What every ``Api`` must do when it is written to; a part of ``api_contract``."""

from typing import Any

import pytest

from fairgate_scheduler.adapters.kube.api import (
    ConflictError,
    InvalidError,
    Manifest,
    NotFoundError,
)
from fairgate_scheduler.adapters.kube.api.kinds import CONFIG_MAP, POD, RAY_JOB
from fairgate_scheduler.testing.api_rig import ApiContract, Rig, config_map, pod, ray_job, version_of


class WritingContract(ApiContract):
    """Create, patch and delete."""

    def test_what_is_there_is_not_created_again(self, rig: Rig) -> None:
        manifest = config_map(rig)
        rig.api.create(CONFIG_MAP, manifest)
        with pytest.raises(ConflictError) as error:
            rig.api.create(CONFIG_MAP, manifest)
        assert error.value.reason == "AlreadyExists"

    def test_the_server_makes_names(self, rig: Rig) -> None:
        metadata = {"generateName": "made-", "namespace": rig.namespace}
        names = [rig.api.create(CONFIG_MAP, {"metadata": metadata})["metadata"]["name"] for _ in "12"]
        assert names[0] != names[1]
        assert all(name.startswith("made-") and len(name) == 10 for name in names)

    def test_a_bad_name_is_invalid(self, rig: Rig) -> None:
        with pytest.raises(InvalidError, match=r"metadata\.name"):
            rig.api.create(CONFIG_MAP, config_map(rig, "Not_A_Name"))

    def test_nothing_is_created_where_there_is_no_namespace(self, rig: Rig) -> None:
        manifest = config_map(rig, namespace="missing")
        with pytest.raises(NotFoundError, match='namespaces "missing" not found'):
            rig.api.create(CONFIG_MAP, manifest)
        with pytest.raises(NotFoundError, match='namespaces "missing" not found'):
            rig.api.apply(CONFIG_MAP, manifest)

    def test_a_merge_patch_changes_what_it_names(self, rig: Rig) -> None:
        made = rig.api.create(CONFIG_MAP, config_map(rig, "", {"a": "1", "b": "2"}))
        name = made["metadata"]["name"]
        patched = rig.api.patch(CONFIG_MAP, name, {"data": {"a": None, "c": "3"}}, rig.namespace)
        assert patched["data"] == {"b": "2", "c": "3"}
        assert int(version_of(patched)) > int(version_of(made))
        with pytest.raises(NotFoundError):
            rig.api.patch(CONFIG_MAP, "missing", {"data": {}}, rig.namespace)

    def test_a_write_that_changes_nothing_is_no_event(self, rig: Rig) -> None:
        made = rig.api.create(CONFIG_MAP, config_map(rig, "", {"a": "1"}))
        name = made["metadata"]["name"]
        assert version_of(rig.api.patch(CONFIG_MAP, name, {"data": {"a": "1"}}, rig.namespace)) == version_of(made)
        applied = rig.api.apply(CONFIG_MAP, config_map(rig, name, {"a": "1"}))
        assert version_of(rig.api.apply(CONFIG_MAP, config_map(rig, name, {"a": "1"}))) == version_of(applied)

    @pytest.mark.parametrize("metadata", [{"resourceVersion": "1"}, {"uid": "another"}])
    def test_a_write_of_another_version_or_object_is_a_conflict(self, rig: Rig, metadata: dict[str, str]) -> None:
        name = rig.api.create(CONFIG_MAP, config_map(rig))["metadata"]["name"]
        with pytest.raises(ConflictError):
            rig.api.patch(CONFIG_MAP, name, {"metadata": metadata, "data": {"a": "1"}}, rig.namespace)
        with pytest.raises(ConflictError):
            rig.api.apply(CONFIG_MAP, config_map(rig, name, {"a": "1"}, **metadata))

    def test_what_is_gone_is_not_made_anew_by_who_says_its_uid(self, rig: Rig) -> None:
        with pytest.raises(ConflictError):
            rig.api.apply(CONFIG_MAP, config_map(rig, uid="another"))

    def test_status_is_written_apart(self, rig: Rig) -> None:
        made = rig.api.create(RAY_JOB, ray_job(rig, "one", status={"message": "ignored"}))
        name = made["metadata"]["name"]
        assert "status" not in made
        patch = {"status": {"message": "seen"}, "spec": {"entrypoint": "ignored"}}
        told = rig.api.patch(RAY_JOB, name, patch, rig.namespace, subresource="status")
        assert (told["spec"]["entrypoint"], told["status"]["message"]) == ("one", "seen")
        assert told["metadata"]["generation"] == 1
        patch = {"status": {"message": "ignored"}, "spec": {"entrypoint": "two"}}
        changed = rig.api.patch(RAY_JOB, name, patch, rig.namespace)
        assert (changed["spec"]["entrypoint"], changed["status"]["message"]) == ("two", "seen")
        assert changed["metadata"]["generation"] == 2
        applied = rig.other.apply(RAY_JOB, {**changed, "metadata": made_of(changed), "status": {"message": "ignored"}})
        assert applied["status"]["message"] == "seen"

    def test_labels_are_no_new_generation(self, rig: Rig) -> None:
        name = rig.api.create(RAY_JOB, ray_job(rig, "one"))["metadata"]["name"]
        labelled = rig.api.patch(RAY_JOB, name, {"metadata": {"labels": {"a": "b"}}}, rig.namespace)
        assert (labelled["metadata"]["generation"], labelled["metadata"]["labels"]) == (1, {"a": "b"})

    def test_deleting_says_whether_it_was_there(self, rig: Rig) -> None:
        made = rig.api.create(CONFIG_MAP, config_map(rig))
        name, uid = made["metadata"]["name"], made["metadata"]["uid"]
        with pytest.raises(ConflictError):
            rig.api.delete(CONFIG_MAP, name, rig.namespace, uid="another")
        assert rig.api.delete(CONFIG_MAP, name, rig.namespace, uid=uid)
        assert not rig.api.delete(CONFIG_MAP, name, rig.namespace, uid=uid)
        assert not rig.api.delete(CONFIG_MAP, name, rig.namespace)

    def test_finalizers_keep_what_is_being_deleted(self, rig: Rig) -> None:
        manifest = ray_job(rig, "one")
        manifest["metadata"]["finalizers"] = ["example.com/one"]
        name = rig.api.create(RAY_JOB, manifest)["metadata"]["name"]
        assert rig.api.delete(RAY_JOB, name, rig.namespace)
        kept = rig.api.get(RAY_JOB, name, rig.namespace)
        assert kept["metadata"]["deletionTimestamp"].endswith("Z")
        assert kept["metadata"]["generation"] == 2
        assert rig.api.delete(RAY_JOB, name, rig.namespace)
        assert rig.api.get(RAY_JOB, name, rig.namespace) == kept
        more = {"metadata": {"finalizers": ["example.com/one", "example.com/two"]}}
        with pytest.raises(InvalidError):
            rig.api.patch(RAY_JOB, name, more, rig.namespace)
        rig.api.patch(RAY_JOB, name, {"metadata": {"finalizers": None}}, rig.namespace)
        with pytest.raises(NotFoundError):
            rig.api.get(RAY_JOB, name, rig.namespace)

    def test_a_pod_that_has_no_node_is_deleted_at_once(self, rig: Rig) -> None:
        name = rig.api.create(POD, pod(rig, [{"name": "a", "image": "a"}]))["metadata"]["name"]
        rig.api.delete(POD, name, rig.namespace)
        with pytest.raises(NotFoundError):
            rig.api.get(POD, name, rig.namespace)

    def test_a_pod_on_a_node_stays_until_its_kubelet_has_ended_it(self, rig: Rig) -> None:
        made = rig.api.create(POD, pod(rig, [{"name": "a", "image": "a"}], nodeName="nowhere"))
        name = made["metadata"]["name"]
        rig.api.delete(POD, name, rig.namespace)
        assert rig.api.get(POD, name, rig.namespace)["metadata"]["deletionGracePeriodSeconds"] == 30
        rig.api.patch(POD, name, {"status": {"phase": "Failed"}}, rig.namespace, subresource="status")
        ended = rig.api.get(POD, name, rig.namespace)
        assert (ended["status"]["phase"], "deletionTimestamp" in ended["metadata"]) == ("Failed", True)

    def test_a_pod_that_has_ended_is_deleted_at_once(self, rig: Rig) -> None:
        made = rig.api.create(POD, pod(rig, [{"name": "a", "image": "a"}], nodeName="nowhere"))
        name = made["metadata"]["name"]
        rig.api.patch(POD, name, {"status": {"phase": "Succeeded"}}, rig.namespace, subresource="status")
        rig.api.delete(POD, name, rig.namespace)
        with pytest.raises(NotFoundError):
            rig.api.get(POD, name, rig.namespace)


def made_of(manifest: Manifest) -> dict[str, Any]:
    """The metadata by which an apply finds an object."""
    return {"name": manifest["metadata"]["name"], "namespace": manifest["metadata"]["namespace"]}
