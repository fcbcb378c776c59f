"""The JSON that a database holds: readable by people, exact, and safe to read with another version of the code."""

from dataclasses import dataclass
from fractions import Fraction

import pytest
from fairgate_scheduler.adapters.sql.codec import codec_of, dumps
from fairgate_scheduler.core.jobs import Option, PodGroup
from fairgate_scheduler.core.tenancy import Policy, QuotaCut, Tenant

OPTION = Option("h100", Fraction(1, 3), (PodGroup("workers", "h100", 2, {"cpu": 500}),), {("h100", "cpu"): 1000})


@dataclass(frozen=True)
class Unsupported:
    when: complex


def test_an_option_as_it_is_stored():
    assert dumps(codec_of(Option).encode(OPTION)) == (
        '{"flavor":"h100","speed":"1/3",'
        '"groups":[{"name":"workers","flavor":"h100","count":2,"requests":{"cpu":500}}],'
        '"demand":[[["h100","cpu"],1000]]}'
    )


def test_a_set_has_an_order():
    tenant = Tenant("a", allowed_flavors=frozenset({"v5e", "a100", "h100"}))
    assert codec_of(Tenant).encode(tenant)["allowed_flavors"] == ["a100", "h100", "v5e"]


def test_a_field_that_an_old_text_lacks_gets_its_default():
    assert codec_of(Policy).decode({"quota_cut": "reclaim"}) == Policy(quota_cut=QuotaCut.RECLAIM)


def test_a_field_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="a stored Policy has colour, shape: a newer Fairgate wrote it"):
        codec_of(Policy).decode({"shape": 1, "colour": 2, "reclaim": True})


@pytest.mark.parametrize("kind", [float, list[int], int | str, Unsupported, dict[str, int]])
def test_a_type_without_a_form_is_refused_at_once(kind):
    with pytest.raises(TypeError, match="has no form in JSON here"):
        codec_of(kind)
