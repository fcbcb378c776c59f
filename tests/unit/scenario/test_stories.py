"""Every scenario file of the project holds: our own stories, known faults of peers, the examples of the how-to."""

from pathlib import Path

import pytest
from fairgate_scheduler.scenario.simulation import simulate

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted([*ROOT.glob("tests/scenarios/**/*.yaml"), *ROOT.glob("docs/howto/policy-tests/*.yaml")])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_story(file):
    result = simulate(file.read_text(), file.name)
    assert not result.broken
    assert [outcome for outcome in result.outcomes if not outcome.ok] == []
    assert result.outcomes


def test_there_are_stories():
    assert len(FILES) > 30
