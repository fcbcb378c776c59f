"""Fairgate's own words about options, read strictly."""

from fractions import Fraction

import pytest
from fairgate_scheduler.core.manifests import GroupChange, ManifestError, OptionSpec, read_option_specs
from fairgate_scheduler.testing.rayjobs import GPU, TPU

FULL = {
    "flavor": "v5e",
    "speed": 0.3,
    "groups": {
        "workers": {
            "flavor": "v5e",
            "resources": {TPU: 4, "memory": "16Gi"},
            "replicas": 1,
            "min_replicas": 1,
            "maxReplicas": 2.0,
            "numOfHosts": 4,
            "image": "ray:tpu",
            "env": {"PJRT_DEVICE": "TPU"},
            "rayStartParams": {"num-cpus": "8"},
        }
    },
}


def test_every_field_is_read_in_both_spellings():
    change = GroupChange(
        flavor="v5e",
        resources={TPU: "4", "memory": "16Gi"},
        replicas=1,
        min_replicas=1,
        max_replicas=2,
        num_of_hosts=4,
        image="ray:tpu",
        env={"PJRT_DEVICE": "TPU"},
        ray_start_params={"num-cpus": "8"},
    )
    (spec,) = read_option_specs([FULL])
    assert (spec.flavor, spec.speed, dict(spec.groups)) == ("v5e", Fraction(3, 10), {"workers": change})
    assert spec.change_of("workers") == change
    assert spec.change_of("other") == GroupChange()


@pytest.mark.parametrize("nothing", [None, [], ()])
def test_no_options(nothing):
    assert read_option_specs(nothing) == ()


@pytest.mark.parametrize(
    ("speed", "expected"),
    [
        (None, None),
        ("", None),
        (0, Fraction(0)),
        (2, Fraction(2)),
        ("0.45", Fraction(9, 20)),
        ("1/3", Fraction(1, 3)),
        (0.1, Fraction(1, 10)),
        (Fraction(1, 7), Fraction(1, 7)),
    ],
)
def test_speeds_are_exact(speed, expected):
    assert read_option_specs([{"flavor": "h100", "speed": speed}]) == (OptionSpec("h100", expected, {}),)


@pytest.mark.parametrize(
    ("data", "field", "remedy"),
    [
        ({"flavor": "h100"}, "options", "begin each option with a dash"),
        (["h100"], "options[0]", "its fields are flavor, groups, speed"),
        ([{}], "options[0].flavor", "name the flavor that the workers run on"),
        ([{"flavor": 1}], "options[0].flavor", "put it in quotes"),
        ([{"flavor": "a", "speeds": 1}], "options[0].speeds", "did you mean speed?"),
        ([{"flavor": "a", "speed": -1}], "options[0].speed", "write a ratio of at least 0"),
        ([{"flavor": "a", "speed": "fast"}], "options[0].speed", "write a ratio of at least 0"),
        ([{"flavor": "a", "speed": "1/0"}], "options[0].speed", "write a ratio of at least 0"),
        ([{"flavor": "a", "speed": "9" * 5000}], "options[0].speed", "write a ratio of at least 0"),
        ([{"flavor": "a", "speed": True}], "options[0].speed", "write a ratio of at least 0"),
        ([{"flavor": "a", "groups": []}], "options[0].groups", "write `workers: {…}`"),
        ([{"flavor": "a", "groups": {"w": 1}}], "options[0].groups.w", "its fields are"),
        ([{"flavor": "a", "groups": {"w": {"replcas": 1}}}], "options[0].groups.w.replcas", "did you mean replicas?"),
        (
            [{"flavor": "a", "groups": {"w": {"minReplicas": 1, "min_replicas": 1}}}],
            "options[0].groups.w.min_replicas",
            "leave one out",
        ),
        (
            [{"flavor": "a", "groups": {"w": {"replicas": -1}}}],
            "options[0].groups.w.replicas",
            "write a whole number of at least 0",
        ),
        (
            [{"flavor": "a", "groups": {"w": {"replicas": "2"}}}],
            "options[0].groups.w.replicas",
            "write a whole number of at least 0",
        ),
        (
            [{"flavor": "a", "groups": {"w": {"num_of_hosts": 0}}}],
            "options[0].groups.w.num_of_hosts",
            "write a whole number of at least 1",
        ),
        ([{"flavor": "a", "groups": {"head": {"replicas": 1}}}], "options[0].groups.head.replicas", "leave it out"),
        (
            [{"flavor": "a", "groups": {"w": {"resources": {"limits": {GPU: 1}}}}}],
            "options[0].groups.w.resources.limits",
            "write them directly",
        ),
        (
            [{"flavor": "a", "groups": {"w": {"resources": {GPU: "0.5"}}}}],
            f"options[0].groups.w.resources[{GPU}]",
            "ask for whole devices",
        ),
        (
            [{"flavor": "a", "groups": {"w": {"resources": {GPU: -1}}}}],
            f"options[0].groups.w.resources[{GPU}]",
            "ask for 0 or more",
        ),
        (
            [{"flavor": "a", "groups": {"w": {"resources": {"gpu": 1}}}}],
            "options[0].groups.w.resources.gpu",
            "did you mean cpu?",
        ),
        ([{"flavor": "a", "groups": {"w": {"env": {"A": 1}}}}], "options[0].groups.w.env.A", "put it in quotes"),
        ([{"flavor": "a"}] * 33, "options", "leave some out"),
    ],
)
def test_what_is_wrong_is_named_by_field(data, field, remedy):
    with pytest.raises(ManifestError) as error:
        read_option_specs(data)
    (finding,) = error.value.findings
    assert finding.field == field
    assert remedy in finding.remedy


def test_another_path_may_lead_to_the_options():
    with pytest.raises(ManifestError, match=r"job\.options\[0\]\.flavor: is missing"):
        read_option_specs([{}], "job.options")
