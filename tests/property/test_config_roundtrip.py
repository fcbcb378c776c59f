"""A rendered config reads back as the same config, whatever is in it."""

from fractions import Fraction

from fairgate_scheduler.core.amounts import UNLIMITED
from fairgate_scheduler.core.tenancy import Budget, Config, Flavor, Policy, Quota, QuotaCut, Tenant
from fairgate_scheduler.documents.config_file import read_config
from fairgate_scheduler.documents.render import diff_configs, render_config
from fairgate_scheduler.documents.scalars import format_duration, format_fraction, parse_duration
from hypothesis import given, settings
from hypothesis import strategies as st

FLAVORS = ("cpu", "h100", "v5e-2x4", "no")
RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "ephemeral-storage")
TENANTS = ("org", "null", "1e0")
durations = st.integers(0, 10**10)
fractions = st.fractions(min_value=0, max_value=10**6, max_denominator=10**4)
amounts = st.integers(0, 2**40) | st.sampled_from([0, 1, 1000, 1024, 3 * 2**30])
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@st.composite
def rows(draw, is_root):
    nominal = draw(amounts | st.just(UNLIMITED))
    if is_root:
        return Quota(nominal)
    return Quota(nominal, draw(st.none() | amounts), draw(st.none() | st.integers(0, nominal)))


@st.composite
def tenants(draw, name, parents, index):
    quota = st.dictionaries(
        st.tuples(st.sampled_from(FLAVORS), st.sampled_from(RESOURCES)), rows(not parents), max_size=3
    )
    limit = st.none() | st.integers(0, 2**31 - 1)
    roles = st.dictionaries(
        st.sampled_from(["submitter", "operator", "viewer"]),
        st.lists(words.filter(bool).map("user:".__add__), max_size=2).map(tuple),
    )
    return Tenant(
        id=name,
        parent=draw(st.sampled_from(parents)) if parents else None,
        weight=draw(fractions),
        quota=draw(quota),
        budget=draw(st.none() | st.builds(Budget, fractions, st.integers(1, 10**10))),
        allowed_flavors=draw(st.none() | st.frozensets(st.sampled_from(FLAVORS))),
        max_priority=draw(st.none() | st.integers(-(2**31), 2**31 - 1)),
        max_pending_jobs=draw(limit),
        max_running_jobs=draw(limit),
        namespace=draw(st.none() | st.just(f"ns-{index}")) if index == len(TENANTS) - 1 else None,
        service_accounts=draw(st.lists(st.sampled_from(["default", "on", "x.y"]), max_size=2).map(tuple)),
        roles=draw(roles),
    )


@st.composite
def flavors(draw, name):
    toleration = st.fixed_dictionaries({}, optional={"key": words, "value": words, "tolerationSeconds": st.just("60")})
    return Flavor(
        name=name,
        price=draw(fractions),
        resource=draw(st.sampled_from([None, "nvidia.com/gpu"])),
        capacity=draw(st.none() | st.dictionaries(st.sampled_from(RESOURCES), amounts)),
        node_labels=draw(st.dictionaries(words, words, max_size=3)),
        tolerations=draw(st.lists(toleration, max_size=2).map(tuple)),
        kueue_flavor=draw(st.sampled_from([None, f"adopted.{name}"])),
        default_for_cpu_pods=name == "cpu" and draw(st.booleans()),
    )


policies = st.builds(
    Policy,
    reclaim=st.booleans(),
    rebalance=st.booleans(),
    priority_preemption=st.booleans(),
    min_runtime_ms=durations,
    backfill_after_ms=st.none() | durations,
    quota_cut=st.sampled_from(QuotaCut),
    ready_timeout_ms=durations,
    option_backoff_ms=durations,
    history_half_life_ms=st.none() | st.integers(1, 10**10),
    dominant_resources=st.permutations(["accelerator", "cpu", "memory"]).map(lambda names: tuple(names[:2])),
)


@st.composite
def configs(draw):
    chosen = [draw(tenants(name, TENANTS[:index], index)) for index, name in enumerate(TENANTS)]
    return Config(
        flavors={name: draw(flavors(name)) for name in FLAVORS},
        tenants={tenant.id: tenant for tenant in chosen},
        policy=draw(policies),
        priorities=draw(st.dictionaries(words, st.integers(-(2**31), 2**31 - 1), max_size=3)),
        speeds=draw(
            st.dictionaries(words.filter(bool), st.dictionaries(st.sampled_from(FLAVORS), fractions), max_size=2)
        ),
    )


@settings(max_examples=30, deadline=None)
@given(configs())
def test_what_is_rendered_reads_back_exactly(config):
    text = render_config(config)
    again = read_config(text)
    assert again == config
    assert render_config(again) == text


@settings(max_examples=10, deadline=None)
@given(configs(), configs())
def test_no_difference_is_missed_and_none_invented(one, other):
    assert diff_configs(one, one) == []
    assert bool(diff_configs(one, other)) == (one != other)


@given(durations)
def test_durations(duration_ms):
    assert parse_duration(format_duration(duration_ms)) == duration_ms


@given(fractions | st.sampled_from([Fraction(1, 3), Fraction(1, 2**25), Fraction(10**20)]))
def test_fractions(value):
    text = format_fraction(value)
    assert Fraction(text) == value
    assert "e" not in text
