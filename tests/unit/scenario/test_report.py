"""What ``fairgate simulate`` prints, for people and for programs, and its exit codes."""

import json

import pytest
from fairgate_scheduler.entrypoints.simulate import run

GOOD = """\
version: 1
name: a good one
flavors: {h: {capacity: {nvidia.com/gpu: 2}}}
tenants: {o: {quota: {h: {nvidia.com/gpu: {nominal: 2}}}}, o/a: {}}
jobs:
  - {id: j, tenant: o/a, at: 1.5s, run: 10m, flavors: [h], pods: [{requests: {nvidia.com/gpu: 2}}]}
  - {id: k, tenant: o/a, at: 2s, run: 10m, time_limit: 5m, flavors: [h], pods: [{requests: {nvidia.com/gpu: 2}}]}
  - {id: bad, tenant: o/a, at: 2s, run: 10m, flavors: [h], pods: [{requests: {nvidia.com/gpu: -1}}]}
  - {id: big, tenant: o/a, at: 2s, run: 10m, flavors: [h], pods: [{requests: {nvidia.com/gpu: 3}}]}
expect:
  - {at: 1m, running: [j]}
"""
FAILING = GOOD + (
    "  - {at: 2m, running: [j, k], pending: {big: WAITING_FOR_QUOTA}}\n"
    "  - {evictions_total: 0}\n"
    "  - {started_by: {big: 1m, j: 1s}}\n"
    "events:\n  - {at: 1m, delete_tenant: o}\n"
)
BROKEN = "version: 1\nflavors: {}\ntenants: {}\nexpct: []\n"


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, text):
        (tmp_path / name).write_text(text)
        return name

    return write


def test_all_hold(file, capsys):
    assert run([file("good.yaml", GOOD)]) == 0
    assert capsys.readouterr().out == ("ok      good.yaml: a good one (1 of 1 expectations hold, 0 evictions)\n")


def test_one_fails(file, capsys):
    assert run([file("good.yaml", GOOD), file("failing.yaml", FAILING)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "ok      good.yaml: a good one (1 of 1 expectations hold, 0 evictions)",
        "FAILED  failing.yaml: a good one (2 of 4 expectations hold, 0 evictions)",
        (
            "        failing.yaml:12: at 2m running: expected [j, k], found [j]; "
            "at 2m pending: expected {big: WAITING_FOR_QUOTA}, found {big: EXCEEDS_MAX_QUOTA}"
        ),
        "        failing.yaml:14: started_by: expected {big: 1m, j: 1s}, found {big: never, j: 1.5s}",
        "        note: event 0: FAILED_PRECONDITION: 'o' has jobs or tenants below it",
        "        note: k ended as FAILED (stopped at its time limit)",
        "        note: bad ended as REJECTED (INVALID_ARGUMENT)",
        "        note: big ended as PENDING (EXCEEDS_MAX_QUOTA)",
        "2 scenarios: 1 ok, 1 failed, 0 invalid",
    ]


def test_one_is_not_valid(file, capsys):
    assert run([file("failing.yaml", FAILING), file("broken.yaml", BROKEN), "missing.yaml"]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[-5:] == [
        "INVALID broken.yaml",
        "        broken.yaml:4: expct: unknown key 'expct' (did you mean 'expect'?)",
        "INVALID missing.yaml",
        "        missing.yaml:1: it cannot be read: No such file or directory (check the path)",
        "3 scenarios: 0 ok, 1 failed, 2 invalid",
    ]


def test_not_even_text(tmp_path, capsys):
    file = tmp_path / "binary.yaml"
    file.write_bytes(b"\xff\xfe\x00")
    assert run([file]) == 2
    assert "it is not text (write YAML as UTF-8)" in capsys.readouterr().out


def test_json(file, capsys):
    assert run([file("good.yaml", GOOD)], as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    cycles = told["scenarios"][0].pop("cycles")
    assert cycles > 0
    job = {"tenant": "o/a", "flavor": None, "started_at": None, "finished_at": None, "evictions": 0, "submitted_at": 2}
    assert told == {
        "scenarios": [
            {
                "name": "a good one",
                "file": "good.yaml",
                "ok": True,
                "expectations": [{"index": 0, "ok": True, "detail": ""}],
                "jobs": [
                    {
                        "id": "j",
                        "tenant": "o/a",
                        "state": "SUCCEEDED",
                        "flavor": "h",
                        "submitted_at": 1.5,
                        "started_at": 1.5,
                        "finished_at": 601.5,
                        "evictions": 0,
                        "reason": None,
                    },
                    job
                    | {"id": "k", "state": "FAILED", "flavor": "h", "started_at": 601.5, "finished_at": 901.5}
                    | {"reason": "stopped at its time limit"},
                    job | {"id": "bad", "state": "REJECTED", "reason": "INVALID_ARGUMENT"},
                    job | {"id": "big", "state": "PENDING", "reason": "EXCEEDS_MAX_QUOTA"},
                ],
                "evictions_total": 0,
            }
        ]
    }


def test_json_of_a_file_that_is_not_valid(file, capsys):
    assert run([file("broken.yaml", BROKEN)], as_json=True) == 2
    assert json.loads(capsys.readouterr().out) == {
        "scenarios": [
            {
                "name": None,
                "file": "broken.yaml",
                "ok": False,
                "errors": ["broken.yaml:4: expct: unknown key 'expct' (did you mean 'expect'?)"],
            }
        ]
    }
