"""Exceptions: for whom the API server says, for what admins wrote and until when they wrote, and no further."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from fairgate_admission.facts.rules import RULES, Layers
from fairgate_admission.live.exceptions import EXCEPTABLE, EXPIRES, MARK, declared
from fairgate_scheduler.adapters.kube.api.kinds import CLUSTER_ROLE, SUBJECT_ACCESS_REVIEW
from fairgate_scheduler.testing.rayjobs import GPU

TOMORROW = "2023-11-15"
"""The clock of the tests stands at 2023-11-14T22:13:20Z."""


@dataclass
class Reviewing:
    """An API server that answers who may do what."""

    api: object
    bound: set[tuple[str, str, str]] = field(default_factory=set)

    def __getattr__(self, name):
        return getattr(self.api, name)

    def create(self, kind, manifest):
        if kind is not SUBJECT_ACCESS_REVIEW:
            return self.api.create(kind, manifest)
        asked = manifest["spec"]["resourceAttributes"]
        assert (asked["group"], asked["resource"], asked["verb"]) == ("fairgate.internal", "exemptions", "use")
        allowed = (manifest["spec"]["user"], asked["namespace"], asked["name"]) in self.bound
        return {**manifest, "status": {"allowed": allowed}}


@pytest.fixture
def excepting(place):
    place.api = Reviewing(place.api, {("anna", "vision", "FG-SEC-001.agent"), ("anna", "vision", "FG-POD-001.mine")})
    return place


def declare(place, name="agents", expires=TOMORROW, names=("FG-SEC-001.agent",), **labels):
    rule = {"apiGroups": ["fairgate.internal"], "resources": ["exemptions"], "verbs": ["use"]}
    metadata = {"name": name, "labels": {MARK: "", **labels}}
    if expires is not None:
        metadata["annotations"] = {EXPIRES: expires}
    place.api.create(CLUSTER_ROLE, {"metadata": metadata, "rules": [{**rule, "resourceNames": list(names)}]})


def pod(**container):
    spec = {"containers": [{"name": "c", "image": "x", **container}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "vision"}, "spec": spec}


PRIVILEGED = pod(securityContext={"privileged": True})


def rules(judgement):
    return {each.rule for each in judgement.verdict.denials}


def test_whoever_is_bound_is_let_past_that_rule_and_it_is_told(excepting):
    assert rules(excepting.ask(PRIVILEGED, "anna")) == {"FG-SEC-001"}
    declare(excepting)
    judgement = excepting.ask(PRIVILEGED, "anna")
    assert judgement.verdict.allowed
    assert judgement.exceptions == ("FG-SEC-001.agent",)
    assert judgement.warnings == ("Fairgate: allowed by the exception FG-SEC-001.agent",)
    assert rules(excepting.ask(PRIVILEGED, "ben")) == {"FG-SEC-001"}


def test_all_rules_that_are_broken_need_an_exception(excepting):
    declare(excepting)
    both = pod(securityContext={"privileged": True}, envFrom=[{"secretRef": {"name": "s"}}])
    assert rules(excepting.ask(both, "anna")) == {"FG-SEC-001", "FG-CHAN-004"}


def test_no_exception_gives_a_device(excepting):
    declare(excepting, names=("FG-POD-001.mine", "FG-SEC-001.agent"))
    assert "FG-POD-001" in rules(excepting.ask(pod(resources={"limits": {GPU: 1}}), "anna"))
    assert all(RULES[each].layers is Layers.WEBHOOK for each in EXCEPTABLE), "the policies know no exceptions"


@pytest.mark.parametrize("expires", ["2023-11-13", "2023-11-14T22:13:20Z", "soon", "", None])
def test_one_that_is_over_or_says_no_end_lets_nobody_past(excepting, expires):
    declare(excepting, expires=expires)
    assert rules(excepting.ask(PRIVILEGED, "anna")) == {"FG-SEC-001"}


@pytest.mark.parametrize("expires", ["2023-11-14", "2023-11-14T22:13:21Z", "2023-11-15T00:13:21+02:00"])
def test_it_lasts_until_its_end(excepting, expires):
    declare(excepting, expires=expires)
    assert excepting.ask(PRIVILEGED, "anna").verdict.allowed


@pytest.mark.parametrize(("verb", "plural"), [("list", "clusterroles")])
def test_what_can_not_be_found_out_is_no_exception(excepting, verb, plural):
    declare(excepting)
    excepting.api.faults.fail(verb, plural)
    assert rules(excepting.ask(PRIVILEGED, "anna")) == {"FG-SEC-001", "FG-LOOK-001"}


def test_they_are_listed(excepting):
    declare(excepting, "a", names=("FG-SEC-001.agent", "FG-POD-001"))
    declare(excepting, "b", expires="never")
    found = {
        (each.role, each.name): each.is_good(datetime(2023, 11, 15, tzinfo=UTC)) for each in declared(excepting.api)
    }
    assert found == {("a", "FG-SEC-001.agent"): True, ("a", "FG-POD-001"): False, ("b", "FG-SEC-001.agent"): False}
