"""The policies that ship and their model in Python say the same: the same rules, and the same names."""

import re
from pathlib import Path

import fairgate_admission.policies
import pytest
import yaml
from fairgate_admission.facts import identities
from fairgate_admission.facts.rules import RULES, Layers
from fairgate_admission.policy import backstop

FOLDER = Path(next(iter(fairgate_admission.policies.__path__)))
FILES = sorted(FOLDER.glob("*.yaml"))
RULE = re.compile(r"\[(FG-[A-Z]+-[0-9]{3})\]")


def policies():
    return [
        document
        for file in FILES
        for document in yaml.safe_load_all(file.read_text())
        if document["kind"] == "ValidatingAdmissionPolicy"
    ]


def ids(text):
    return set(RULE.findall(text))


def test_every_rule_of_the_policies_is_in_the_table_and_the_other_way_round():
    shipped = ids("".join(file.read_text() for file in FILES))
    assert shipped == {rule for rule, each in RULES.items() if each.layers is not Layers.WEBHOOK}


def test_every_rule_of_the_policies_is_in_the_model_and_the_other_way_round():
    model = set(re.findall(r'"(FG-[A-Z]+-[0-9]{3})"', Path(backstop.__file__).read_text()))
    assert model == ids("".join(file.read_text() for file in FILES))


def test_every_rule_of_the_gate_is_in_the_table():
    package = FOLDER.parent
    used = {
        rule
        for file in package.rglob("*.py")
        if file.name != "rules.py"
        for rule in re.findall(r'"(FG-[A-Z]+-[0-9]{3})"', file.read_text())
    }
    assert used == set(RULES)


@pytest.mark.parametrize("policy", policies(), ids=lambda policy: policy["metadata"]["name"])
def test_a_policy_fails_closed_needs_no_parameters_and_says_its_rule(policy):
    spec = policy["spec"]
    assert spec["failurePolicy"] == "Fail"
    assert "paramKind" not in spec
    for validation in spec["validations"]:
        assert RULE.match(validation["message"])
        assert "; " in validation["message"]
        assert validation["reason"] == "Forbidden"
    assert not re.search(r"authorizer|params\b", str(spec)), "a policy looks nothing up"


def test_every_policy_is_bound_and_denies():
    documents = [document for file in FILES for document in yaml.safe_load_all(file.read_text())]
    bound = {
        each["spec"]["policyName"]: each["spec"]["validationActions"]
        for each in documents
        if each["kind"] == "ValidatingAdmissionPolicyBinding"
    }
    assert bound == {policy["metadata"]["name"]: ["Deny"] for policy in policies()}
    for each in documents:
        assert each["metadata"]["name"].startswith("fairgate-")


def quoted(name):
    """Every text in quotes in the expressions of this file's policies."""
    documents = yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text())
    parts = [
        part["expression"]
        for each in documents
        for kind in ("matchConditions", "variables", "validations")
        for part in each["spec"].get(kind, [])
    ]
    return {text for part in parts for text in re.findall(r"'([^']*)'", part)}


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("devices", identities.WORKLOAD_CONTROLLERS | {identities.KUBERAY}),
        ("ray", backstop._RAY_WRITERS),
        ("kueue", backstop._CLEANERS | {identities.KUEUE, identities.SCHEDULER}),
        ("claims", backstop._CLEANERS | {identities.CLAIMS, identities.KUBE_SCHEDULER, identities.NODE}),
        ("bindings", {identities.KUBE_SCHEDULER}),
        (
            "status",
            backstop._RAY_WRITERS
            | identities.WORKLOAD_CONTROLLERS
            | {identities.KUBE_SCHEDULER, identities.NODE}
            | set(backstop.SYSTEM_NAMESPACES),
        ),
        (
            "platform",
            set(backstop.SYSTEM_NAMESPACES)
            | identities.ADMIN_GROUPS
            | {identities.NODE, identities.KUBE_SCHEDULER, identities.CONTROLLER_MANAGER},
        ),
        (
            "namespaces",
            backstop._CLEANERS | {identities.SCHEDULER} | identities.ADMIN_GROUPS | set(backstop.GUARDED_LABELS),
        ),
    ],
)
def test_policies_and_model_name_the_same(file, names):
    others = {"UPDATE", "CREATE", "cpu", "memory", "ephemeral-storage", "hugepages-", "0", "inbox", "Orphan", ":", ""}
    others |= {"fairgate.internal/tenant-id", "kueue.x-k8s.io/queue-name", "system:serviceaccount:"}
    assert quoted(file) - others == names


def test_the_kinds_whose_templates_are_looked_at_are_the_same():
    matched = {
        resource
        for policy in policies()
        if "fairgate-devices-" in policy["metadata"]["name"] and "-ray" not in policy["metadata"]["name"]
        for rule in policy["spec"]["matchConstraints"]["resourceRules"]
        for resource in rule["resources"]
    }
    assert matched == {f"{kind.lower()}s" for kinds in backstop.BUILT_IN.values() for kind in kinds} | {"pods"}
