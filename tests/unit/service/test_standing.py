from fractions import Fraction

import pytest
from fairgate_scheduler.core.amounts import UNLIMITED
from fairgate_scheduler.service.errors import NotFound
from fairgate_scheduler.service.quota import apply_config, get_config
from fairgate_scheduler.service.standing import RowStanding, get_tenant, list_flavors, list_tenants

GPU = ("h100", "nvidia.com/gpu")


def test_use_counts_the_subtree(rig):
    rig.submit("one", "a", gpus=2)
    rig.submit("two", "b", gpus=1)
    rig.submit("three", "b", gpus=2)
    rig.turn()
    found = {each.tenant.id: each for each in list_tenants(rig.app)}
    assert list(found) == ["org", "a", "b"]
    assert [(each.account.usage[GPU], each.account.running_jobs, each.pending_jobs) for each in found.values()] == [
        (3, 2, 1),
        (2, 1, 0),
        (1, 1, 1),
    ]
    assert [each.is_leaf for each in found.values()] == [False, True, True]
    assert get_tenant(rig.app, "b") == found["b"]
    with pytest.raises(NotFound):
        get_tenant(rig.app, "nobody")


def test_rows_are_those_that_it_owns_or_may_borrow_or_uses(rig):
    source = get_config(rig.app).source
    zero = "{h100: {nvidia.com/gpu: {nominal: 2}}, a100: {nvidia.com/gpu: {nominal: 0}}}"
    apply_config(rig.app, source.replace("{h100: {nvidia.com/gpu: {nominal: 2}}}", zero, 1))
    rig.submit("one", "b", gpus=3)
    rig.turn()
    found = {each.tenant.id: {row.row: row for row in each.rows} for each in list_tenants(rig.app)}
    assert sorted(found["a"]) == [("a100", "nvidia.com/gpu"), GPU]
    assert found["a"][GPU] == RowStanding(GPU, used=0, nominal=2, borrowed=0, lent=1)
    assert found["b"][GPU] == RowStanding(GPU, used=3, nominal=2, borrowed=1, lent=0)
    assert found["org"][GPU] == RowStanding(GPU, used=3, nominal=4, borrowed=0, lent=0)
    undeclared = ("h100", "cpu")
    assert found["b"][undeclared] == RowStanding(undeclared, used=1000, nominal=UNLIMITED, borrowed=0, lent=0)
    assert ("a100", "nvidia.com/gpu") not in found["b"]


def test_shares_stand_against_what_the_weights_give(rig):
    source = get_config(rig.app).source
    apply_config(rig.app, source.replace("id: b, parent: org", "id: b, parent: org, weight: 3"))
    rig.submit("one", "b", gpus=3)
    rig.turn()
    account = get_tenant(rig.app, "b").account
    assert (account.share, account.dominant, account.weighted_share) == (Fraction(3, 4), "accelerator", Fraction(1, 4))
    assert [each.account.entitlement for each in list_tenants(rig.app)] == [1, Fraction(1, 4), Fraction(3, 4)]


def test_flavors_say_what_is_there_and_what_is_used(rig):
    rig.submit("one", "a", gpus=2)
    rig.turn()
    flavors = {each.flavor.name: each for each in list_flavors(rig.app)}
    assert list(flavors) == ["a100", "cpu", "h100"]
    h100 = flavors["h100"]
    assert (h100.capacity, h100.nominal) == ({"nvidia.com/gpu": 4}, {"nvidia.com/gpu": 4})
    assert h100.used["nvidia.com/gpu"] == 2
    assert flavors["a100"].capacity == {}
    source = get_config(rig.app).source
    apply_config(rig.app, source.replace("h100: {resource", "h100: {capacity: {nvidia.com/gpu: 3}, resource"))
    h100 = {each.flavor.name: each for each in list_flavors(rig.app)}["h100"]
    assert (h100.capacity, h100.nominal) == ({"nvidia.com/gpu": 3}, {"nvidia.com/gpu": 4})
