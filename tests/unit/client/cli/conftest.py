"""The command line, run in this process against the real service, at the service's time."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fairgate._cli import times
from fairgate._cli.main import app
from typer.testing import CliRunner, Result


@pytest.fixture
def fg(service, monkeypatch) -> Iterator[Callable[..., Result]]:
    """Run ``fairgate ARGUMENTS`` and return its exit code and what it printed."""
    monkeypatch.setenv("FAIRGATE_STATE_DIR", str(service.settings.folder))
    monkeypatch.setenv("TZ", "UTC")
    for name in ("FAIRGATE_ADDRESS", "FAIRGATE_TOKEN", "FAIRGATE_TOKEN_FILE", "FAIRGATE_TENANT", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    time.tzset()
    monkeypatch.setattr(times, "now", lambda: datetime.fromtimestamp(service.clock.now_ms() / 1000, UTC))
    runner = CliRunner()

    def run(*arguments: object, stdin: str | None = None) -> Result:
        return runner.invoke(app, [str(each) for each in arguments], input=stdin, prog_name="fairgate")

    yield run
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """An empty working folder, so that messages name files as they were typed."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
