import pytest
from fairgate_scheduler.core.jobs import JobState
from fairgate_scheduler.core.snapshot import HoldReason
from fairgate_scheduler.entrypoints.grpc import codec
from fairgate_scheduler.service.errors import InvalidArgument, NotFound
from fairgate_scheduler.service.privacy import explanation_for
from fairgate_scheduler.service.query import JobFilter, explain, get_job, list_jobs, read_log
from fairgate_scheduler.testing.memory_store import MemoryTransaction


def _page(rig, size=0, token="", **wanted):
    views, token = list_jobs(rig.app, JobFilter(**wanted), size, token)
    return [view.job.id.rpartition("/")[2] for view in views], token


def test_an_unknown_job_is_not_found(rig):
    for call in (get_job, explain, read_log):
        with pytest.raises(NotFound):
            call(rig.app, "tenants/a/jobs/nobody")


def test_pages_follow_each_other_newest_first(rig):
    for number in range(5):
        rig.submit(f"j{number}")
    first, token = _page(rig, 2)
    rig.submit("later")
    second, token = _page(rig, 2, token)
    third, end = _page(rig, 2, token)
    assert (first, second, third, end) == (["j4", "j3"], ["j2", "j1"], ["j0"], "")


def test_a_page_that_is_full_by_the_last_job_has_no_next_one(rig):
    rig.submit("j0")
    rig.submit("j1")
    assert _page(rig, 2) == (["j1", "j0"], "")


def test_tenants_mean_all_below_them_too(rig):
    rig.submit("one", "a")
    rig.submit("two", "b")
    assert _page(rig, tenants=frozenset({"org"}))[0] == ["two", "one"]
    assert _page(rig, tenants=frozenset({"b"}))[0] == ["two"]
    with pytest.raises(NotFound):
        _page(rig, tenants=frozenset({"gone"}))


def test_states_and_filters_meet(rig):
    rig.submit("one", labels={"project": "x"})
    rig.submit("two")
    rig.submit("three", gpus=4)
    rig.turn(2)
    assert _page(rig, states=frozenset({JobState.PENDING}))[0] == ["three"]
    assert _page(rig, filter_text="state = PENDING")[0] == ["three"]
    assert _page(rig, states=frozenset({JobState.ADMITTED}), filter_text="state = PENDING")[0] == []
    assert _page(rig, filter_text="labels.project = x")[0] == ["one"]


def test_a_filter_that_few_jobs_pass_still_fills_its_pages(rig):
    for number in range(30):
        rig.submit(f"j{number}", priority=number % 10)
    first, token = _page(rig, 2, filter_text="priority = 9")
    second, end = _page(rig, 2, token, filter_text="priority = 9")
    assert (first, second, end) == (["j29", "j19"], ["j9"], "")


@pytest.mark.parametrize(("size", "token", "field"), [(-1, "", "page_size"), (2, "x", "page_token")])
def test_wrong_pages_are_refused(rig, size, token, field):
    with pytest.raises(InvalidArgument) as caught:
        _page(rig, size, token)
    assert caught.value.field == field


def test_a_token_is_good_for_its_own_filter_only(rig):
    for number in range(3):
        rig.submit(f"j{number}")
    token = _page(rig, 2)[1]
    with pytest.raises(InvalidArgument) as caught:
        _page(rig, 2, token, filter_text="priority = 0")
    assert caught.value.field == "page_token"


def test_a_job_that_waits_says_why(rig):
    rig.submit("big", gpus=4)
    rig.turn()
    waits = rig.submit("waits", gpus=1)
    rig.turn()
    view = get_job(rig.app, waits.job.id)
    assert (view.hold, view.attempt) == (HoldReason.WAITING_FOR_QUOTA, None)
    hold = explain(rig.app, waits.job.id).hold
    (need,) = [each for each in hold.options[0].needs if each.at]
    assert (need.need, need.have, need.holders) == (1, 0, {"a": 4})
    assert hold.position == 1


def test_a_job_that_runs_has_no_hold(rig):
    name = rig.submit("train").job.id
    view = rig.run_until(name, "RUNNING")
    assert (view.hold, view.attempt.number, len(view.attempts)) == (None, 1, 1)
    assert explain(rig.app, name).hold is None


def test_an_admitted_job_waits_for_what_was_preempted_for_it(rig):
    rig.submit("borrows", gpus=4)
    rig.run_until("tenants/a/jobs/borrows", "RUNNING")
    for process in rig.runner.history:
        process.script = type(process.script)(stop_ms=5_000)
    name = rig.submit("reclaims", "b").job.id
    rig.turn(2)
    view = get_job(rig.app, name)
    assert (view.job.state, view.hold) == (JobState.ADMITTED, HoldReason.WAITING_FOR_PREEMPTED)
    told = explain(rig.app, name)
    assert (told.hold.reason, told.leaving) == (HoldReason.WAITING_FOR_PREEMPTED, ("tenants/a/jobs/borrows",))
    shown = explanation_for(told, frozenset())
    assert (shown.leaving, shown.unnamed_leaving) == ((), 1)
    assert explanation_for(told, frozenset({"admin"})) == told
    assert codec.encode_explanation(told).hold.message.endswith("are gone: tenants/a/jobs/borrows")
    assert codec.encode_explanation(shown).hold.message.endswith("are gone: 1 job of other tenants")
    assert rig.run_until(name, "RUNNING").hold is None


def test_a_log_is_that_of_the_last_attempt(rig):
    name = rig.submit("train").job.id
    assert read_log(rig.app, name).data == b""
    assert not read_log(rig.app, name).is_end
    rig.run_until(name, "SUCCEEDED")
    chunk = read_log(rig.app, name)
    assert (chunk.data, chunk.is_end) == (b"working\nended\n", True)
    assert read_log(rig.app, name, 1, 8, 5).data == b"ended"


def test_a_job_that_ended_without_an_attempt_has_an_empty_log(rig):
    name = rig.submit("train").job.id
    rig.turn()
    with rig.app.write() as writing:
        job = writing.transaction.get_job(name)
    assert job.attempts == 1
    with pytest.raises(NotFound) as caught:
        read_log(rig.app, name, 2)
    assert caught.value.field == "attempt"


@pytest.mark.parametrize(("offset", "limit", "field"), [(-1, 10, "offset"), (0, 0, "limit"), (0, 2**30, "limit")])
def test_wrong_pieces_of_a_log_are_refused(rig, offset, limit, field):
    name = rig.submit("train").job.id
    with pytest.raises(InvalidArgument) as caught:
        read_log(rig.app, name, None, offset, limit)
    assert caught.value.field == field


def test_a_list_does_not_look_into_the_store_for_each_job_that_waits(rig, monkeypatch):
    names = [rig.submit(f"j{number}").job.id for number in range(3)]
    asked = []
    for look in ("get_submission", "get_attempts"):
        monkeypatch.setattr(MemoryTransaction, look, lambda _self, job: asked.append(job))
    views, _ = list_jobs(rig.app, JobFilter())
    assert ([view.job.id for view in views], asked) == (names[::-1], [])
    assert all(view.submission.manifest for view in views)


def test_a_list_of_an_unknown_tenant_says_which_one_was_meant(rig):
    rig.submit("train")
    assert [view.job.id for view in list_jobs(rig.app, JobFilter(frozenset({"a"})))[0]] == ["tenants/a/jobs/train"]
    assert list_jobs(rig.app, JobFilter(frozenset({"b"}))) == ([], "")
    with pytest.raises(NotFound, match="there is no tenant 'aa'") as caught:
        list_jobs(rig.app, JobFilter(frozenset({"aa"})))
    assert caught.value.remedy == "did you mean a?"
