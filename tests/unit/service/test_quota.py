import pytest
from fairgate_scheduler.core.snapshot import HoldReason
from fairgate_scheduler.service.cancel import cancel
from fairgate_scheduler.service.errors import Aborted, FailedPrecondition, InvalidArgument
from fairgate_scheduler.service.preview import Moved
from fairgate_scheduler.service.prospects import Prospects
from fairgate_scheduler.service.quota import apply_config, get_config

HOUR_MS = 3_600_000


def _source(rig, old="", new=""):
    source = get_config(rig.app).source
    assert old in source
    return source.replace(old, new, 1) if old else source


def test_a_change_is_a_new_version(rig):
    before = get_config(rig.app)
    result = apply_config(rig.app, _source(rig, "nominal: 2", "nominal: 3"), before.etag, by="me", comment="more")
    after = get_config(rig.app)
    assert after == result.version
    assert after.etag != before.etag
    assert (after.by, after.comment, after.at_ms) == ("me", "more", rig.clock.now_ms())
    assert [str(each) for each in result.changes] == ["~ tenants.a.quota.h100[nvidia.com/gpu].nominal: 2 → 3"]
    with rig.app.read() as transaction:
        assert transaction.get_config(before.etag) == before


def test_the_same_document_again_is_the_same_version(rig):
    before = get_config(rig.app)
    result = apply_config(rig.app, before.source)
    assert (result.version, result.changes) == (before, ())
    assert get_config(rig.app) == before


def test_an_old_document_again_is_a_new_version(rig):
    first = get_config(rig.app)
    apply_config(rig.app, _source(rig, "nominal: 2", "nominal: 3"))
    back = apply_config(rig.app, first.source).version
    assert back.config == first.config
    assert back.etag != first.etag


def test_a_stale_etag_is_aborted(rig):
    before = get_config(rig.app)
    apply_config(rig.app, _source(rig, "nominal: 2", "nominal: 3"))
    with pytest.raises(Aborted) as caught:
        apply_config(rig.app, _source(rig, "nominal: 3", "nominal: 4"), before.etag)
    assert caught.value.field == "etag"


def test_validate_only_previews_and_changes_nothing(rig):
    before = get_config(rig.app)
    small = rig.submit("small", gpus=2).job.id
    big = rig.submit("big", "b", gpus=4).job.id
    rig.run_until(small, "RUNNING")
    result = apply_config(rig.app, _source(rig, "nominal: 2", "nominal: 6"), validate_only=True)
    assert (result.preview.starts, result.preview.evicts, result.preview.waits) == ((big,), (), ())
    assert result.preview.flavors == {big: "h100"}
    assert get_config(rig.app) == before
    assert apply_config(rig.app, before.source, validate_only=True).preview.waits == (big,)


def test_a_preview_names_who_would_be_evicted(rig):
    borrows = rig.submit("borrows", gpus=4).job.id
    rig.run_until(borrows, "RUNNING")
    source = _source(rig, "priorities:", "policy: {quota_cut: reclaim}\npriorities:")
    source = source.replace("nominal: 2", "nominal: 1")
    source = source.replace("h100: {resource", "h100: {capacity: {nvidia.com/gpu: 4}, resource")
    result = apply_config(rig.app, source, validate_only=True)
    assert [each.job for each in result.preview.evicts] == [borrows]
    assert result.preview.waits == (borrows,)


def test_everything_wrong_is_said_with_its_line(rig):
    source = "version: 1\nflavors: {h100: {pric: 1}}\ntenants: [{id: A}]\n"
    with pytest.raises(InvalidArgument) as caught:
        apply_config(rig.app, source)
    found = {each.field: each for each in caught.value.violations}
    assert {"config.flavors.h100.pric", "config.tenants[0].id"} <= found.keys()
    assert found["config.flavors.h100.pric"].message.startswith("line 2: ")
    assert found["config.tenants[0].id"].message.startswith("line 3: ")


def test_a_preview_says_why_jobs_would_wait(rig):
    big = rig.submit("big", gpus=4).job.id
    rig.run_until(big, "RUNNING")
    small = rig.submit("small", gpus=1).job.id
    huge = rig.submit("huge", "b", gpus=3).job.id
    source = _source(rig, "max_priority: 100", "max_running_jobs: 1")
    preview = apply_config(rig.app, source, validate_only=True).preview
    assert (preview.starts, preview.evicts, preview.waits) == ((), (), (small, huge))
    assert preview.reasons == {small: HoldReason.TENANT_LIMIT, huge: HoldReason.WAITING_FOR_QUOTA}


def test_a_preview_says_why_the_evicted_would_wait_when_what_starts_has_started(rig):
    borrows = rig.submit("borrows", gpus=3).job.id
    rig.run_until(borrows, "RUNNING")
    owns = rig.submit("owns", "b", gpus=2).job.id
    preview = apply_config(rig.app, get_config(rig.app).source, validate_only=True).preview
    assert (preview.starts, preview.waits) == ((owns,), (borrows,))
    assert preview.reasons == {borrows: HoldReason.WAITING_FOR_QUOTA}


def test_the_runner_says_what_of_a_configuration_has_no_effect(rig, monkeypatch):
    monkeypatch.setattr(rig.runner, "remarks", lambda config: [f"{len(config.tenants)} tenants in vain"])
    before = get_config(rig.app).source
    for validate_only in (True, False):
        assert apply_config(rig.app, before, validate_only=validate_only).warnings == ("3 tenants in vain",)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  - {id: a, parent: org, quota: {h100: {nvidia.com/gpu: {nominal: 2}}}, max_priority: 100}\n", ""),
        ("priorities:", "  - {id: below, parent: a}\npriorities:"),
    ],
)
def test_a_tenant_with_live_jobs_stays_a_leaf(rig, old, new):
    name = rig.submit(tenant="a").job.id
    source = _source(rig, old, new)
    with pytest.raises(FailedPrecondition) as caught:
        apply_config(rig.app, source, validate_only=True)
    assert "1 job of 'a' has not ended" in caught.value.message
    cancel(rig.app, name)
    apply_config(rig.app, source)


def test_a_preview_says_how_much_later_those_who_wait_would_start(rig):
    rig.app.prospects = Prospects(rig.app.store, work_s=60)
    for number in range(2):
        rig.submit(f"runs-{number}", "b", gpus=2, time_limit_ms=HOUR_MS * (1 + number))
    rig.turn(2)
    huge = rig.submit("huge", "b", gpus=2).job.id
    rig.turn()
    assert apply_config(rig.app, get_config(rig.app).source, validate_only=True).preview.latest_starts == {
        huge: Moved(1_000_000 + HOUR_MS, 1_000_000 + HOUR_MS)
    }
    source = _source(rig, "{id: b, ", "{id: b, max_running_jobs: 1, ")
    moved = apply_config(rig.app, source, validate_only=True).preview.latest_starts[huge]
    assert moved == Moved(1_000_000 + HOUR_MS, 1_000_000 + 2 * HOUR_MS)
    assert apply_config(rig.app, source).preview.latest_starts == {}


def test_a_preview_counts_what_was_spent_in_the_periods_of_its_budgets(rig):
    rig.app.prospects = Prospects(rig.app.store, work_s=60)
    done = rig.submit("done", time_limit_ms=60 * 60_000).job.id
    rig.run_until(done, "SUCCEEDED")
    waits = rig.submit("waits", gpus=1, time_limit_ms=59 * 60_000).job.id
    budget = "budget: {accelerator_hours: 1, period: 1h}, max_priority: 100"
    preview = apply_config(rig.app, _source(rig, "max_priority: 100", budget), validate_only=True).preview
    assert (preview.starts, preview.reasons) == ((), {waits: HoldReason.BUDGET_EXHAUSTED})
    (moved,) = preview.latest_starts.values()
    assert moved.before_ms == rig.clock.now_ms()
    assert moved.after_ms == HOUR_MS
