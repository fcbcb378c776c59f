"""Why jobs wait, and everything that is said of one that does."""

from fractions import Fraction

import pytest
from fairgate_scheduler.core.holds import explain, reasons
from fairgate_scheduler.core.jobs import AttemptState
from fairgate_scheduler.core.snapshot import HoldReason, Need
from fairgate_scheduler.core.tenancy import Flavor, Policy, Quota, Tenant
from fairgate_scheduler.testing.worlds import GPU, H100, World, config_of, owner, takes

A100 = ("a100", GPU)
ALLOWED = frozenset({"h100", "a100"})


def world(policy: Policy | None = None, **settings) -> World:
    quota = {H100: Quota(8), A100: Quota(8)}
    tenants = [Tenant("org", quota=quota), owner("a", allowed_flavors=ALLOWED, **settings), owner("b")]
    return World(config_of(*tenants, policy=policy, l4=Flavor("l4")))


def reason_of(found: World, name: str) -> HoldReason:
    told = reasons(found.snapshot(), found.now_ms)
    assert explain(found.snapshot(), name, found.now_ms).reason is told[name]
    return told[name]


@pytest.mark.parametrize(
    "options",
    [
        (),
        (takes("unknown", gpu=1),),
        (takes("l4", gpu=1),),
        (takes("h100", Fraction(0), gpu=1), takes("h100", cpu_flavor="l4", gpu=1, cpu=1)),
    ],
)
def test_no_option_that_could_ever_be_taken(options):
    found = world()
    found.submit("job", "a", *options)
    assert reason_of(found, "job") is HoldReason.NO_MATCHING_FLAVOR


def test_more_than_there_could_ever_be():
    found = world(max_running_jobs=0)
    found.submit("job", "a", takes("h100", gpu=9), takes("unknown", gpu=1), backoff={0: 99})
    assert reason_of(found, "job") is HoldReason.EXCEEDS_MAX_QUOTA
    hold = explain(found.snapshot(), "job", 0)
    assert hold.options[0].needs == (Need(H100, 9, 8, "org"), Need(H100, 9, 8, ""))
    assert hold.options[1].reason == "no such flavor: unknown"


def test_the_tenants_limit_goes_before_everything_that_passes():
    found = world(max_running_jobs=1)
    found.submit("first", "a", takes("h100", gpu=1))
    found.cycle()
    found.submit("job", "a", takes("h100", gpu=8), takes("a100", gpu=1), backoff={0: 99}, fallback_after_ms=99)
    assert reason_of(found, "job") is HoldReason.TENANT_LIMIT
    message = explain(found.snapshot(), "job", 0).message
    assert message == "tenant a runs as many jobs as its max_running_jobs allows: 1"


def test_backoff_of_all_that_could_be_taken():
    found = world()
    found.submit("job", "a", takes("h100", gpu=1), takes("unknown", gpu=1), backoff={0: 5_001})
    assert reason_of(found, "job") is HoldReason.BACKOFF
    assert explain(found.snapshot(), "job", 0).options[0].reason == "skipped for another 6s"


class TestPreferred:
    def test_a_later_option_could_start_now(self):
        found = world()
        found.submit("first", "a", takes("h100", gpu=8))
        found.cycle()
        for name in ("job", "equal"):
            found.submit(name, "a", takes("h100", gpu=8), takes("a100", gpu=8), fallback_after_ms=5_000)
        assert not found.cycle()
        assert reason_of(found, "job") is HoldReason.WAITING_FOR_PREFERRED
        assert reason_of(found, "equal") is HoldReason.WAITING_FOR_PREFERRED
        options = explain(found.snapshot(), "job", 1_500).options
        assert [each.reason for each in options] == [
            "not enough is free",
            "not before it has waited another 4s for earlier options",
        ]

    def test_a_later_option_could_not_start_either(self):
        found = world()
        found.submit("first", "a", takes("h100", gpu=8))
        found.submit("second", "a", takes("a100", gpu=1))
        found.cycle()
        found.submit("job", "a", takes("h100", gpu=8), takes("a100", gpu=8), fallback_after_ms=5_000)
        assert reason_of(found, "job") is HoldReason.WAITING_FOR_QUOTA

    def test_a_later_option_could_start_by_evicting_a_lower_priority(self):
        found = world()
        found.submit("first", "b", takes("h100", gpu=8))
        found.submit("second", "a", takes("a100", gpu=8))
        found.cycle()
        found.submit("job", "a", takes("h100", gpu=8), takes("a100", gpu=8), priority=1, fallback_after_ms=5_000)
        assert not found.cycle()
        assert reason_of(found, "job") is HoldReason.WAITING_FOR_PREFERRED


def test_what_is_missing_where_and_who_holds_it():
    tenants = [
        Tenant("org", quota={H100: Quota(2)}),
        Tenant("a", "org", quota={H100: Quota(2, borrowing_limit=1)}),
        owner("b", gpus=4),
    ]
    found = World(config_of(*tenants, h100=Flavor("h100", capacity={GPU: 7})))
    found.submit("b", "b", takes("h100", gpu=4))
    found.submit("a", "a", takes("h100", gpu=2))
    found.cycle()
    found.submit("other", "a", takes("h100", gpu=3), priority=-1)
    found.submit("job", "a", takes("h100", gpu=2))
    assert not found.cycle()
    hold = explain(found.snapshot(), "job", 0)
    assert (hold.job, hold.reason, hold.position) == ("job", HoldReason.WAITING_FOR_QUOTA, 1)
    assert hold.options[0].needs == (
        Need(H100, 2, 1, "a", {"a": 2}),
        Need(H100, 2, 1, "", {"a": 2, "b": 4}),
    )
    assert explain(found.snapshot(), "other", 0).position == 2


def test_room_that_a_tenant_keeps_for_itself_counts_as_had():
    tenants = [owner("org", None), Tenant("a", "org", quota={H100: Quota(4, lending_limit=1)}), owner("b", gpus=2)]
    found = World(config_of(*tenants))
    found.submit("b", "b", takes("h100", gpu=2))
    found.submit("b2", "b", takes("h100", gpu=1))
    found.cycle()
    found.submit("job", "a", takes("h100", gpu=5))
    assert explain(found.snapshot(), "job", 0).options[0].needs == (
        Need(H100, 5, 3, "org", {"b": 3}),
        Need(H100, 5, 3, "", {"b": 3}),
    )


def test_an_option_that_is_not_allowed_says_to_whom():
    found = world()
    found.submit("job", "a", takes("l4", gpu=1), takes("h100", Fraction(0), gpu=1), takes("h100", gpu=1))
    told = [each.reason for each in explain(found.snapshot(), "job", 0).options]
    assert told == [
        "tenant a may not use l4",
        "its speed there is 0: it does not run there",
        "fits beside all that runs",
    ]


def test_an_admitted_job_waits_for_those_that_gave_way():
    found = world()
    found.submit("job", "a", takes("h100", gpu=1))
    found.start("job")
    with pytest.raises(KeyError):
        explain(found.snapshot(), "job", 0)
    found.set_state("job", AttemptState.RESERVED)
    assert explain(found.snapshot(), "job", 0).reason is HoldReason.WAITING_FOR_PREEMPTED
    assert reasons(found.snapshot(), 0) == {}
