"""Fairgate's own fields in a manifest's annotations."""

import pytest
from fairgate_scheduler.core.jobs import Fallback
from fairgate_scheduler.documents.annotations import Annotations, read_annotations
from fairgate_scheduler.documents.problems import DocumentError


def annotated(**values: object) -> dict[str, object]:
    return {"metadata": {"annotations": {f"fairgate.internal/{key.replace('_', '-')}": v for key, v in values.items()}}}


def test_everything_that_can_be_said() -> None:
    manifest = annotated(
        tenant="vision",
        priority="7",
        time_limit="1h30m",
        preemptible="false",
        fallback="ordered",
        fallback_after="5m",
        workload="llm",
        options="- flavor: h100\n- {flavor: v5e, speed: 0.5}\n",
    )
    assert read_annotations(manifest) == Annotations(
        tenant="vision",
        priority=7,
        time_limit_ms=5_400_000,
        preemptible=False,
        fallback=Fallback.ORDERED,
        fallback_after_ms=300_000,
        workload="llm",
        options=({"flavor": "h100"}, {"flavor": "v5e", "speed": "0.5"}),
    )


def test_a_priority_may_be_a_configured_name() -> None:
    assert read_annotations(annotated(priority="production")) == Annotations(priority_class="production")


@pytest.mark.parametrize("manifest", [{}, {"metadata": {}}, {"metadata": {"annotations": {"example.com/tenant": "x"}}}])
def test_nothing_said(manifest: dict[str, object]) -> None:
    assert read_annotations(manifest) == Annotations()


@pytest.mark.parametrize(
    ("values", "path", "message", "remedy"),
    [
        ({"time_limit": "soon"}, "time-limit", "'soon' is not a duration", "write a number with its unit"),
        ({"time_limit": 0}, "time-limit", "'0' is not a duration", "write a number with its unit"),
        ({"preemptible": "no"}, "preemptible", "'no' is neither true nor false", "write true or false"),
        ({"fallback": "sonest"}, "fallback", "unknown word 'sonest'", "did you mean 'soonest'?"),
        ({"prioritty": 1}, "prioritty", "unknown annotation 'fairgate.internal/prioritty'", "did you mean 'priority'?"),
        ({"options": "flavor: h100"}, "options", "line 1 of it: a mapping where a list belongs", "begin each item"),
        ({"options": "- {a"}, "options", "line 2 of it: not YAML", "check indentation"),
        ({"tenant": None}, "tenant", "nothing where a single value belongs", "write one value"),
    ],
)
def test_what_is_wrong_is_named_by_field(values: dict[str, object], path: str, message: str, remedy: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_annotations(annotated(**values))
    (problem,) = caught.value.problems
    assert problem.path == f"metadata.annotations[fairgate.internal/{path}]"
    assert problem.message.startswith(message)
    assert problem.remedy.startswith(remedy)
