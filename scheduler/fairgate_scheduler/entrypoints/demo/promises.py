"""What the demo promises, each checked against what was seen. Pure: evidence in, findings out."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from fairgate import EventKind, HoldReason, JobState

from fairgate_scheduler.core.amounts import UNLIMITED, Amount, parse_quantity
from fairgate_scheduler.entrypoints.demo.evidence import Evidence, Look

BORROWER: Final = "sweep"
MOVED: Final = "to-tpu"
RESULTS: Final = {
    "sweep": "trained: 40 steps",
    "words": "4200 words in 6 files",
    "pi": "pi is about 3.1",
    "train": "trained: 12 steps",
    "finetune": "trained: 12 steps",
    "to-tpu": "trained: 10 steps",
    "evaluate": "scores sum up to 285 on 1 GPU",
    "urgent": "pi is about 3.1",
    "report": "1400 words in 2 files",
}
"""How the line with each job's result begins."""

_STARTS: Final = re.compile(r"attempt (\d+) starts after step (\d+)")
_STEP: Final = re.compile(r"step (\d+) of \d+")


@dataclass(frozen=True, slots=True)
class Finding:
    """One promise: whether it was kept, and what shows it."""

    promise: str
    is_kept: bool
    detail: str


def check(evidence: Evidence) -> tuple[Finding, ...]:
    """Every promise of the demo, in the order of the story."""
    return tuple(Finding(promise, *test(evidence)) for promise, test in _PROMISES)


def _all_succeed(evidence: Evidence) -> tuple[bool, str]:
    wrong = [
        f"{name} {evidence.jobs[name].state} {evidence.jobs[name].message}".strip() if name in evidence.jobs else name
        for name in RESULTS
        if name not in evidence.jobs or evidence.jobs[name].state is not JobState.SUCCEEDED
    ]
    return not wrong, "; ".join(wrong) or f"{len(evidence.jobs)} jobs of three tenants succeeded"


def _results(evidence: Evidence) -> tuple[bool, str]:
    wrong = [name for name in RESULTS if not result_of(evidence, name)]
    shown = [f"{name}: {evidence.output(name)[-1:]}" for name in wrong]
    return not wrong, "; ".join(shown) or "each job printed the result that its code computes"


def result_of(evidence: Evidence, job: str) -> str:
    """The line with a job's result, "" if it printed none."""
    return next((line for line in reversed(evidence.output(job)) if line.startswith(RESULTS[job])), "")


def _queue_with_reasons(evidence: Evidence) -> tuple[bool, str]:
    reasons = {job.hold.reason for look in evidence.looks for job in look.jobs if job.hold is not None}
    wanted = {HoldReason.WAITING_FOR_QUOTA, HoldReason.WAITING_FOR_PREEMPTED}
    return wanted <= reasons, "seen: " + (", ".join(sorted(reasons)) or "none")


def _borrowed(evidence: Evidence) -> tuple[bool, str]:
    most = max((_gpus(look, "research", "h100") for look in evidence.looks), default=0)
    return most == 4, f"research, which owns no GPU, used {most} H100 while nobody else asked"


def _nominal_taken_back(evidence: Evidence) -> tuple[bool, str]:
    best = max(
        (min(_gpus(look, "vision", "h100"), _gpus(look, "nlp", "h100")), -_gpus(look, "research", "h100"))
        for look in evidence.looks
    )
    evictions = [event for event in evidence.events if event.kind is EventKind.EVICTED]
    victims = sorted({event.job.rpartition("/")[2] for event in evictions})
    seen = f"vision and nlp held at least {best[0]} H100 each, research {-best[1]}; evicted: {', '.join(victims)}"
    return best[0] >= 1 and best[1] == 0 and victims == [BORROWER], seen


def _resumed(evidence: Evidence) -> tuple[bool, str]:
    """The first step after an eviction is the last checkpoint + 1. A notice may come between saving and printing."""
    lines = evidence.output(BORROWER)
    starts = [(int(match[1]), int(match[2])) for match in map(_STARTS.match, lines) if match]
    last, resumed = 0, []
    for text in lines:
        step, start = _STEP.match(text), _STARTS.match(text)
        if start:
            resumed.append(int(start[2]))
            if not last <= int(start[2]) <= last + 1:
                return False, f"attempt {start[1]} started after step {start[2]}, the last one printed was {last}"
            last = int(start[2])
        elif step:
            if int(step[1]) != last + 1:
                return False, f"step {step[1]} came after step {last}"
            last = int(step[1])
    is_kept = len(starts) >= 2 and resumed[0] == 0 and resumed[1] > 0 and last == 40
    shown = ", ".join(f"attempt {number} after step {step}" for number, step in starts)
    return is_kept, f"{shown}; {last} steps in all, none left out, none twice"


def _moved_to_tpu(evidence: Evidence) -> tuple[bool, str]:
    job = evidence.jobs.get(MOVED)
    line = next((text for text in evidence.output(MOVED) if text.startswith("attempt ")), "")
    is_kept = job is not None and job.flavor == "v5e" and ": 4 TPU, no GPU" in line
    return is_kept, f"{line!r}, charged to {job.flavor if job else '?'}"


def _priority_first(evidence: Evidence) -> tuple[bool, str]:
    urgent, other = evidence.jobs.get("urgent"), evidence.jobs.get("finetune")
    if not urgent or not other or not urgent.start_time or not other.start_time:
        return False, "one of them did not start"
    return urgent.start_time < other.start_time, "urgent (100) started before finetune (0) of the same tenant"


def _never_above(evidence: Evidence) -> tuple[bool, str]:
    for look in evidence.looks:
        for tenant in look.tenants:
            for row in tenant.usage.rows if tenant.usage and not tenant.parent else ():
                if row.nominal and _amount(row.usage, row.resource) > _amount(row.nominal, row.resource):
                    return False, f"{row.usage} {row.resource} of {row.flavor} used at {look.at_s:.1f} s"
    return True, f"in {len(evidence.looks)} looks no flavor's use was above the quota of the whole tree"


def _amount(text: str, resource: str) -> Amount:
    return UNLIMITED if text == "UNLIMITED" else parse_quantity(text, resource)


def _gpus(look: Look, tenant: str, flavor: str) -> int:
    rows = next((each.usage.rows for each in look.tenants if each.id == tenant and each.usage), ())
    return sum(int(row.usage) for row in rows if (row.flavor, row.resource) == (flavor, "nvidia.com/gpu"))


_PROMISES: Final[Sequence[tuple[str, Callable[[Evidence], tuple[bool, str]]]]] = (
    ("a tenant borrows what nobody else uses", _borrowed),
    ("the queue says why each job waits", _queue_with_reasons),
    ("owners take their nominal quota back, only the borrower is evicted", _nominal_taken_back),
    ("the evicted job goes on from its checkpoint", _resumed),
    ("a job falls back from GPU to TPU, with its resources rewritten", _moved_to_tpu),
    ("a higher priority goes first inside its tenant", _priority_first),
    ("usage never passes the quota", _never_above),
    ("every job succeeds", _all_succeed),
    ("every job's output is real", _results),
)
