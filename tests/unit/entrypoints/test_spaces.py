"""Ray can not run from a path with spaces: who would need it says so at once, before anything is begun."""

import sys

import pytest
from fairgate_scheduler.adapters.local_ray.plan import unusable_python
from fairgate_scheduler.entrypoints import up
from fairgate_scheduler.entrypoints.demo import command as demo
from fairgate_scheduler.entrypoints.settings import Settings

REMEDY = "Ray can not start workers from a path with spaces; move the checkout, or its virtual environment"


@pytest.fixture(params=["executable", "prefix"])
def spaced(request, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/opt/venv/bin/python")
    monkeypatch.setattr(sys, "prefix", "/opt/venv")
    path = f"/home/me/my code/.venv/{request.param}"
    monkeypatch.setattr(sys, request.param, path)
    return path


def test_a_server_does_not_start(spaced, tmp_path, capsys):
    state = tmp_path / "state"
    assert up.run(Settings(state, "", tmp_path, 1000), None) == 1
    assert capsys.readouterr().err == f"error: {spaced}: {REMEDY}\n"
    assert not state.exists()


def test_the_demo_does_not_start(spaced, capsys):
    assert demo.run(as_json=False) == 1
    assert capsys.readouterr() == ("", f"error: {spaced}: {REMEDY}\n")


def test_other_paths_will_do():
    assert unusable_python("/opt/fairgate/.venv/bin/python3.11", "/opt/fairgate/.venv") == ""
