from dataclasses import replace

import pytest
from fairgate_scheduler.service import reading, templates
from fairgate_scheduler.service.errors import InvalidArgument
from fairgate_scheduler.service.reading import prepare
from fairgate_scheduler.service.templates import Templates


@pytest.fixture
def reads(monkeypatch):
    """How often a manifest was really read."""
    seen = []

    def counted(request, config, now_ms, *more):
        seen.append(request)
        return prepare(request, config, now_ms, *more)

    monkeypatch.setattr(reading, "prepare", counted)
    return seen


@pytest.fixture
def version(rig):
    return rig.app.config_version()


@pytest.mark.parametrize("changes", [{}, {"job_id": "other"}, {"submitted_by": "user:you"}, {"request_id": "r"}])
def test_a_copy_is_what_reading_it_again_would_give(rig, reads, version, changes):
    kept = Templates()
    kept.prepare(rig.request(job_id="mine"), version, 5)
    again = replace(rig.request(), **changes)
    assert kept.prepare(again, version, 7) == prepare(again, version.config, 7)
    assert len(reads) == 1


@pytest.mark.parametrize(
    ("changes", "spec"),
    [({"tenant": "b"}, {}), ({"name": "eval"}, {}), ({}, {"priority": 1}), ({}, {"labels": {"x": "y"}})],
)
def test_what_differs_is_read(rig, reads, version, changes, spec):
    kept = Templates()
    kept.prepare(rig.request(), version, 5)
    other = rig.request(**changes, **spec)
    assert kept.prepare(other, version, 5) == prepare(other, version.config, 5)
    assert len(reads) == 2


def test_another_configuration_is_another_understanding(rig, reads, version):
    kept = Templates()
    kept.prepare(rig.request(), version, 5)
    kept.prepare(rig.request(), replace(version, etag="other"), 5)
    assert len(reads) == 2


def test_a_bad_id_is_refused_together_with_what_else_is_wrong(rig, version):
    kept = Templates()
    with pytest.raises(InvalidArgument) as refused:
        kept.prepare(rig.request(job_id="No", priority=1_000), version, 5)
    assert [each.field for each in refused.value.violations] == ["job_id", "priority"]


def test_what_is_refused_is_refused_again(rig, version):
    kept = Templates()
    for _ in range(2):
        with pytest.raises(InvalidArgument):
            kept.prepare(rig.request(gpus=1_000), version, 5)


def test_only_so_many_are_kept_and_the_one_used_last_longest_ago_goes(rig, reads, version, monkeypatch):
    monkeypatch.setattr(templates, "MOST", 2)
    monkeypatch.setattr(templates, "_size", lambda _key: 1)
    kept = Templates()
    for name in ("one", "two", "one", "six", "one", "two"):
        kept.prepare(rig.request(name), version, 5)
    assert [each.manifest_text for each in reads] == [
        rig.request(name).manifest_text for name in ("one", "two", "six", "two")
    ]


def test_a_long_manifest_is_not_kept(rig, reads, version, monkeypatch):
    monkeypatch.setattr(templates, "LONGEST", 10)
    kept = Templates()
    for _ in range(2):
        kept.prepare(rig.request(), version, 5)
    assert len(reads) == 2


def test_a_manifest_that_many_tenants_submit_is_parsed_once(rig, version, monkeypatch):
    parsed = []
    monkeypatch.setattr(reading, "read", lambda text, read=reading.read: parsed.append(text) or read(text))
    kept = Templates()
    for tenant in ("a", "b", "a", "b"):
        request = rig.request(tenant=tenant)
        assert kept.prepare(request, version, 5) == prepare(request, version.config, 5)
    assert parsed == [rig.request().manifest_text]
