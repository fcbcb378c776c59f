"""Every attack file that ships gets what it wants, every rule refuses something, and the page about them is fresh."""

import functools
from pathlib import Path

import pytest
from fairgate_admission.facts.rules import RULES
from fairgate_admission.offline.checking import Outcome, check
from fairgate_admission.offline.matrix import render_matrix
from fairgate_admission.offline.report import render_text

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "admission" / "attacks").glob("*.attack.yaml"))


@functools.cache
def checked(path):
    return check(path.read_text(), path.name)


NOT_IN_FILES = {
    "FG-REQ-001": "a file with such a request is not valid itself: test_review",
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".attack.yaml"))
def test_every_case_gets_what_it_wants(path):
    result = checked(path)
    assert result.ok, render_text([(path.name, result)])
    assert result.results


def test_only_roles_leave_something_to_the_cluster():
    left = {path.name for path in FILES for result in checked(path).results if result.outcome is Outcome.LEFT}
    assert left == {"roles.attack.yaml"}


def test_every_refusal_in_the_files_names_its_rule():
    unnamed = [
        f"{path.name}: {result.case.name}"
        for path in FILES
        for result in checked(path).results
        if not result.case.want_allow and result.outcome is Outcome.OK and not result.case.rule
    ]
    assert unnamed == []


def test_every_rule_refuses_something():
    named = {result.case.rule for path in FILES for result in checked(path).results} - {""}
    assert named | set(NOT_IN_FILES) == set(RULES)
    assert named.isdisjoint(NOT_IN_FILES)


def test_every_policy_refuses_what_it_is_for_alone():
    """A rule of the policies is tried with the layer ``policy`` or ``any``, so that the cluster tests try it there."""
    alone = {
        result.case.rule for path in FILES for result in checked(path).results if str(result.case.layer) == "policy"
    }
    assert {rule for rule in RULES if "policy" in RULES[rule].layers} == alone


def test_the_matrix_is_fresh():
    page = ROOT / "docs" / "reference" / "attack-matrix.md"
    rendered = render_matrix(checked(path) for path in FILES)
    assert page.read_text() == rendered, (
        "run `fairgate-admission matrix admission/attacks/*.attack.yaml > docs/reference/attack-matrix.md`"
    )
