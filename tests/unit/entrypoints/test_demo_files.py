"""What the demo plays, and where it is shown."""

from pathlib import Path

import pytest
from fairgate_scheduler.documents.annotations import read_annotations
from fairgate_scheduler.documents.config_file import read_config
from fairgate_scheduler.documents.mapping import read_mapping
from fairgate_scheduler.entrypoints.demo.command import make_console
from fairgate_scheduler.service.reading import SubmitRequest, prepare

TUTORIAL = Path(__file__).parents[3] / "docs/tutorial"
AS_PEOPLE_HAVE_IT = "02-words.yaml"
"""The one manifest that is left as it often is, for the warnings."""


@pytest.mark.parametrize("name", sorted(each.name for each in (TUTORIAL / "jobs").glob("*.yaml")))
def test_the_manifests_of_the_tutorial_say_what_is_best_said_but_one(name):
    text = (TUTORIAL / "jobs" / name).read_text(encoding="utf-8")
    config = read_config((TUTORIAL / "fairgate.yaml").read_text(encoding="utf-8"))
    tenant = read_annotations(read_mapping(text).data).tenant
    warnings = prepare(SubmitRequest(tenant, None, text), config, 0).submission.warnings
    told = [word for word in ("shutdownAfterJobFinishes", "no time limit") if any(word in each for each in warnings)]
    assert len(told) == (2 if name == AS_PEOPLE_HAVE_IT else 0), warnings


@pytest.mark.parametrize(("columns", "width"), [(None, 180), ("100", 100)])
def test_a_file_has_room_for_the_tables(monkeypatch, columns, width):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    assert make_console(is_error=False).width == width
