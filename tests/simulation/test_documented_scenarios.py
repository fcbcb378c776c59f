"""The worked pictures of the documentation hold: each is a scenario file that lies beside its page."""

from pathlib import Path

import pytest
from fairgate_scheduler.entrypoints.simulate import run

DOCS = Path(__file__).resolve().parents[2] / "docs"
FILES = sorted(DOCS.glob("*/scenarios/*.yaml"))


def test_there_are_some():
    assert FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_picture_holds(file, capsys):
    assert run([file]) == 0, capsys.readouterr().out
