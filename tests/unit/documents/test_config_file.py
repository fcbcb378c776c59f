"""Configs: everything of the format is read, and everything that can be wrong is told with line and remedy."""

from fractions import Fraction

import pytest
from fairgate_scheduler.core.amounts import UNLIMITED
from fairgate_scheduler.core.tenancy import Budget, Config, Flavor, Quota, QuotaCut, Tenant
from fairgate_scheduler.documents.config_file import read_config, read_configs
from fairgate_scheduler.documents.problems import DocumentError
from fairgate_scheduler.documents.render import ConfigChange, diff_configs

FULL = """\
version: 1
flavors:
  a100:
    price: 1.5
    resource: nvidia.com/gpu
    capacity: {nvidia.com/gpu: 32, memory: 1Ti}
    node_labels: {example.com/kind: a100}
    tolerations: [{key: gpu, operator: Equal, value: "yes", effect: NoSchedule}]
    kueue_flavor: shared.a100
  cpu: {default_for_cpu_pods: true}
tenants:
  - {id: root, quota: {cpu: {cpu: {nominal: UNLIMITED}}}}
  - id: speech
    parent: root
    weight: 1/3
    namespace: speech-jobs
    quota:
      a100: {nvidia.com/gpu: {nominal: 8, borrowing_limit: UNLIMITED, lending_limit: 2}}
      cpu: {cpu: {nominal: 1500m}}
    budget: {accelerator_hours: 12.5, period: 7d}
    allowed_flavors: [a100, cpu]
    max_priority: 50
    max_pending_jobs: 10
    max_running_jobs: 3
    service_accounts: [default]
    roles: {viewer: [group:all], submitter: [user:a@example.com]}
priorities: {low: -10, high: 10}
speeds:
  - {workload: asr, a100: 1, cpu: 0}
policy:
  reclaim: false
  rebalance: true
  priority_preemption: false
  min_runtime: 90s
  backfill_after: 1h30m
  quota_cut: reclaim
  ready_timeout: 5m
  option_backoff: 1h
  history_half_life: 7d
  dominant_resources: [accelerator]
"""


def test_everything_is_read():
    config = read_config(FULL)
    assert config.flavors["a100"] == Flavor(
        "a100",
        Fraction(3, 2),
        "nvidia.com/gpu",
        {"nvidia.com/gpu": 32, "memory": 2**40},
        {"example.com/kind": "a100"},
        ({"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"},),
        "shared.a100",
    )
    assert config.cpu_flavor == "cpu"
    assert config.tenants["root"].quota == {("cpu", "cpu"): Quota(UNLIMITED)}
    assert config.tenants["speech"] == Tenant(
        "speech",
        "root",
        Fraction(1, 3),
        {("a100", "nvidia.com/gpu"): Quota(8, None, 2), ("cpu", "cpu"): Quota(1500)},
        Budget(Fraction(25, 2), 7 * 86_400_000),
        frozenset({"a100", "cpu"}),
        50,
        10,
        3,
        "speech-jobs",
        ("default",),
        {"submitter": ("user:a@example.com",), "viewer": ("group:all",)},
    )
    assert config.priorities == {"low": -10, "high": 10}
    assert config.speeds == {"asr": {"a100": 1, "cpu": 0}}
    policy = config.policy
    assert (policy.reclaim, policy.rebalance, policy.priority_preemption) == (False, True, False)
    assert (policy.min_runtime_ms, policy.backfill_after_ms) == (90_000, 5_400_000)
    assert policy.quota_cut is QuotaCut.RECLAIM
    assert (policy.ready_timeout_ms, policy.option_backoff_ms) == (300_000, 3_600_000)
    assert (policy.history_half_life_ms, policy.dominant_resources) == (7 * 86_400_000, ("accelerator",))


def found(*texts):
    with pytest.raises(DocumentError) as error:
        read_configs([(f"{chr(97 + index)}.yaml", text) for index, text in enumerate(texts)])
    return [str(problem) for problem in error.value.problems]


HEAD = "version: 1\nflavors: {h100: {}, cpu: {}}\ntenants:\n  - {id: org}\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("flavors: {}\n", "a.yaml:1: version is missing (add version: …)"),
        ("version: 2\n", "a.yaml:1: version: version '2' is not known (write version: 1)"),
        ("version: 1\nflavours: {}\n", "a.yaml:2: flavours: unknown key 'flavours' (did you mean 'flavors'?)"),
        (
            "- a\n",
            (
                "a.yaml:1: a list where a mapping belongs "
                "(write keys: version, flavors, tenants, priorities, speeds, policy)"
            ),
        ),
        (
            "version: 1\nflavors:\n  H100: {}\n",
            (
                "a.yaml:3: flavors.H100: 'H100' is not a name that Kubernetes takes "
                "(lower-case letters, digits and '-', 63 at most, no '-' at either end)"
            ),
        ),
        ("version: 1\nflavors:\n  h: {price: -1}\n", "a.yaml:3: flavors.h.price: -1 is negative (write 0 or more)"),
        (
            "version: 1\nflavors:\n  h: {capacity: {nvidia.com/gpu: 500m}}\n",
            (
                "a.yaml:3: flavors.h.capacity[nvidia.com/gpu]: '500m' is a fraction of a nvidia.com/gpu device "
                "(ask for whole devices)"
            ),
        ),
        (
            "version: 1\nflavors:\n  h: {resource: cpu}\n",
            (
                "a.yaml:3: flavors.h.resource: 'cpu' is no accelerator "
                "(name a device such as nvidia.com/gpu, or leave it out)"
            ),
        ),
        (
            "version: 1\nflavors:\n  a: {default_for_cpu_pods: true}\n  b: {default_for_cpu_pods: true}\n",
            (
                "a.yaml:4: flavors.b.default_for_cpu_pods: 'a' is the default for CPU pods already "
                "(set it on one flavor only)"
            ),
        ),
        (
            "version: 1\nflavors:\n  a: {kueue_flavor: x}\n  b: {kueue_flavor: x}\n",
            (
                "a.yaml:4: flavors.b.kueue_flavor: 'a' uses the ResourceFlavor 'x' already "
                "(each flavor needs one of its own)"
            ),
        ),
        (
            "version: 1\nflavors:\n  a:\n    tolerations:\n      - {operator: Exist}\n",
            "a.yaml:5: flavors.a.tolerations[0].operator: unknown word 'Exist' (did you mean 'Exists'?)",
        ),
        (
            HEAD + "  - {id: a, parent: ogr}\n",
            "a.yaml:5: tenants[1].parent: there is no tenant 'ogr' (did you mean 'org'?)",
        ),
        (
            HEAD + "  - {id: a, parent: b}\n  - {id: b, parent: a}\n",
            "a.yaml:5: tenants[1].parent: a tenant below itself: a → b → a (give one of them another parent, or none)",
        ),
        (HEAD + "  - {id: org}\n", "a.yaml:5: tenants[1]: 'org' a second time, first on line 4 (keep one of them)"),
        (HEAD + "  - {parent: org}\n", "a.yaml:5: tenants[1]: id is missing (add id: …)"),
        (
            HEAD + "  - id: a_b\n",
            (
                "a.yaml:5: tenants[1].id: 'a_b' is not a name that Kubernetes takes "
                "(lower-case letters, digits and '-', 63 at most, no '-' at either end)"
            ),
        ),
        (HEAD + "  - {id: a, weight: -2}\n", "a.yaml:5: tenants[1].weight: -2 is negative (write 0 or more)"),
        (
            HEAD + "  - id: a\n    quota:\n      h10: {cpu: {nominal: 1}}\n",
            "a.yaml:7: tenants[1].quota.h10: there is no flavor 'h10' (did you mean 'h100'?)",
        ),
        (
            HEAD + "  - id: a\n    parent: org\n    quota:\n      h100:\n        nvidia.com/gpu: {nominal: -4}\n",
            "a.yaml:9: tenants[1].quota.h100[nvidia.com/gpu].nominal: -4 is negative (write 0 or more)",
        ),
        (
            HEAD + "  - id: a\n    parent: org\n    quota:\n      h100:\n        cpu: {nominal: 4, lending_limit: 5}\n",
            (
                "a.yaml:9: tenants[1].quota.h100.cpu.lending_limit: lending_limit 5 is above nominal 4 "
                "(lend at most what is owned, or leave it out)"
            ),
        ),
        (
            HEAD + "  - id: a\n    quota: {h100: {cpu: {borrowing_limit: 0}}}\n",
            (
                "a.yaml:6: tenants[1].quota.h100.cpu.borrowing_limit: 'a' is a root: "
                "there is nobody that it could borrow from or lend to (remove it)"
            ),
        ),
        (
            HEAD + "  - id: a\n    quota: {h100: {cpu: {nominl: 0}}}\n",
            "a.yaml:6: tenants[1].quota.h100.cpu.nominl: unknown key 'nominl' (did you mean 'nominal'?)",
        ),
        (
            HEAD + "  - id: a\n    quota: {h100: 5}\n",
            "a.yaml:6: tenants[1].quota.h100: a single value where a mapping belongs (write name: value)",
        ),
        (
            HEAD + "  - {id: a, namespace: n}\n  - {id: b, namespace: n}\n",
            (
                "a.yaml:6: tenants[2].namespace: the namespace 'n' belongs to 'a' already "
                "(one namespace is one tenant's trust domain)"
            ),
        ),
        (
            HEAD + "  - {id: a, namespace: n}\n  - {id: b, parent: a}\n",
            (
                "a.yaml:5: tenants[1].namespace: an inner tenant with a namespace "
                "(only leaf tenants submit jobs: give each leaf its own)"
            ),
        ),
        (
            HEAD + "  - {id: a, allowed_flavors: [h100, l4]}\n",
            "a.yaml:5: tenants[1].allowed_flavors: there is no flavor 'l4' (expected one of cpu, h100)",
        ),
        (
            HEAD + "  - {id: a, budget: {period: 0s}}\n",
            "a.yaml:5: tenants[1].budget: accelerator_hours is missing (add accelerator_hours: …)",
        ),
        (
            HEAD + "  - {id: a, max_running_jobs: -1}\n",
            "a.yaml:5: tenants[1].max_running_jobs: '-1' is not a whole number that fits here (write 0 to 2147483647)",
        ),
        (
            HEAD + "  - {id: a, roles: {admin: [user:x]}}\n",
            "a.yaml:5: tenants[1].roles.admin: unknown key 'admin' (expected one of submitter, operator, viewer)",
        ),
        (
            HEAD + "  - {id: a, roles: {viewer: [x]}}\n",
            (
                "a.yaml:5: tenants[1].roles.viewer[0]: 'x' names nobody "
                "(write user:NAME, group:NAME or serviceaccount:NAMESPACE/NAME)"
            ),
        ),
        (
            HEAD + "priorities: {high: 1.5}\n",
            "a.yaml:5: priorities.high: '1.5' is not a whole number that fits here (write -2147483648 to 2147483647)",
        ),
        (HEAD + "speeds:\n  - {h100: 1}\n", "a.yaml:6: speeds[0]: workload is missing (add workload: NAME)"),
        (
            HEAD + "speeds:\n  - {workload: w, h200: 1}\n",
            "a.yaml:6: speeds[0].h200: there is no flavor 'h200' (did you mean 'h100'?)",
        ),
        (
            HEAD + "policy: {min_runtime: 10}\n",
            (
                "a.yaml:5: policy.min_runtime: '10' is not a duration "
                "(write a number with its unit, such as 90s, 10m, 1h30m or 7d)"
            ),
        ),
        (
            HEAD + "policy: {quota_cut: evict}\n",
            "a.yaml:5: policy.quota_cut: unknown word 'evict' (expected one of drain, reclaim)",
        ),
        (
            HEAD + "policy:\n  dominant_resources: [gpu]\n",
            (
                "a.yaml:6: policy.dominant_resources: not a choice of resources: gpu "
                "(name each of accelerator, cpu, memory at most once, and one at least)"
            ),
        ),
        (
            HEAD + "policy: {reclaim: yes}\n",
            "a.yaml:5: policy.reclaim: 'yes' is neither true nor false (write true or false, without quotes)",
        ),
    ],
)
def test_wrong(text, problem):
    assert problem in found(text)


def test_all_problems_are_told_at_once_and_by_line():
    text = HEAD + "  - {id: a, parent: x, weight: -1}\n  - {id: b, wieght: 1}\npolicy: {reclaim: 1}\n"
    assert [problem.split(": ")[1] for problem in found(text)] == [
        "tenants[1].weight",
        "tenants[1].parent",
        "tenants[2].wieght",
        "policy.reclaim",
    ]


def test_a_folder_of_documents_is_one_config():
    config = read_configs(
        [
            ("flavors.yaml", "version: 1\nflavors: {h100: {}}\npolicy: {rebalance: true}\n"),
            ("org.yaml", "version: 1\ntenants: [{id: org, quota: {h100: {cpu: {nominal: 1}}}}]\n"),
            ("a.yaml", "version: 1\ntenants: [{id: a, parent: org}]\n"),
        ]
    )
    assert set(config.tenants) == {"org", "a"}
    assert config.policy.rebalance


def test_problems_name_their_file():
    assert found(
        "version: 1\nflavors: {h100: {}}\npolicy: {}\ntenants:\n  - {id: org}\n",
        "version: 1\nflavors: {h100: {}}\npolicy: {}\ntenants:\n  - {id: x, parent: nobody}\n  - {id: org}\n",
    ) == [
        "b.yaml:2: flavors.h100: 'h100' a second time, first on a.yaml, line 2 (keep one of them)",
        "b.yaml:3: policy: a second policy (keep it in one file)",
        "b.yaml:5: tenants[0].parent: there is no tenant 'nobody' (expected one of org)",
        "b.yaml:6: tenants[1]: 'org' a second time, first on a.yaml, line 5 (keep one of them)",
    ]


def test_what_comes_or_goes_is_told_without_its_defaults():
    new = read_config("version: 1\nflavors: {a: {price: 2}, cpu: {default_for_cpu_pods: true}}\ntenants: [{id: org}]\n")
    told = ["flavors.a: {price: 2}", "flavors.cpu: {default_for_cpu_pods: true}", "tenants.org: {}"]
    assert [str(each) for each in diff_configs(Config(), new)] == [f"+ {each}" for each in told]
    assert [str(each) for each in diff_configs(new, Config())] == [f"- {each}" for each in told]


def test_changes_are_told_by_field():
    old = read_config(FULL)
    new = read_config(
        FULL.replace("weight: 1/3", "weight: 2")
        .replace("nominal: 8, borrowing_limit: UNLIMITED", "nominal: 8, borrowing_limit: 4")
        .replace("priorities: {low: -10, high: 10}", "priorities: {low: -10, top: 99}")
        .replace("  - {id: root,", "  - {id: other, parent: root}\n  - {id: root,")
        .replace("  rebalance: true\n", "")
    )
    assert diff_configs(old, new) == [
        ConfigChange("tenants.speech.weight", "1/3", "2"),
        ConfigChange("tenants.speech.quota.a100[nvidia.com/gpu].borrowing_limit", None, "4"),
        ConfigChange("tenants.other", None, "{parent: root}"),
        ConfigChange("priorities.high", "10", None),
        ConfigChange("priorities.top", None, "99"),
        ConfigChange("policy.rebalance", "true", "false"),
    ]
    assert str(diff_configs(old, new)[0]) == "~ tenants.speech.weight: 1/3 → 2"
