"""What came of a replay, for people and for programs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from fairgate_scheduler.documents.render import render_config
from fairgate_scheduler.replay.forecasts import ForecastQuality
from fairgate_scheduler.replay.metrics import Anomaly, Cause, Figures, Spread, TenantFigures
from fairgate_scheduler.replay.study import Study
from fairgate_scheduler.replay.trace import Trace

PROBLEMS_SHOWN: Final = 10
LINES_SHOWN: Final = 5
DIGITS: Final = 6
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "m"))
_NONE: Final = "-"


def render_json(study: Study) -> str:
    """One object. Durations in seconds, instants RFC 3339 in UTC, fractions of 1; ``null``: there is none."""
    figures = asdict(study.figures)
    span = {name: _instant(figures.pop(f"{name}_ms")) for name in ("begin", "end")}
    trace = study.trace
    log = {
        "file": trace.file,
        "format": trace.format,
        "jobs": len(trace.jobs),
        "left_out": {why: {"rows": len(lines), "first_lines": lines[:100]} for why, lines in trace.left_out.items()},
        "problems": [str(problem) for problem in trace.problems],
        "notes": {note: count for note, count in trace.notes.items() if count},
    }
    config = {"derived": study.is_derived, "document": render_config(study.config)}
    quality = None if study.forecasts is None else _rounded(asdict(study.forecasts))
    whole = {"log": log, "config": config, **span, "figures": _rounded(figures), "forecasts": quality}
    return json.dumps(whole, indent=2)


def render_text(study: Study) -> str:
    """A page: the log, the whole, the waits by cause, and two tables by tenant."""
    parts = [[_head(study), *_rows_not_used(study.trace)], list(_whole(study.figures))]
    if study.forecasts is not None:
        parts[-1].append(f"{'forecasts at submit':22}{_quality(study.forecasts)}")
    tenants = study.figures.tenants
    parts += [_table(rows) for rows in (_causes(study.figures), _use(tenants), _times(tenants))]
    return "\n\n".join("\n".join(part) for part in parts)


def _head(study: Study) -> str:
    figures = study.figures
    begin, end = (_instant(at_ms)[:10] for at_ms in (figures.begin_ms, figures.end_ms))
    size = "accelerators without bound" if figures.accelerators is None else f"{figures.accelerators:,} accelerators"
    source = "configuration derived from the log" if study.is_derived else "configuration as given"
    return (
        f"{study.trace.file}: {figures.jobs:,} jobs of {len(figures.tenants)} tenants, {begin} to {end}, "
        f"on {size} ({source})"
    )


def _rows_not_used(trace: Trace) -> Iterator[str]:
    for why, lines in trace.left_out.items():
        yield f"  left out: {len(lines):,} rows {why} ({_lines(lines)})"
    for note, count in trace.notes.items():
        if count:
            yield f"  note: {count:,} rows {note}"
    if trace.problems:
        yield f"  not readable: {len(trace.problems):,} rows"
    yield from (f"    {problem}" for problem in trace.problems[:PROBLEMS_SHOWN])
    if len(trace.problems) > PROBLEMS_SHOWN:
        yield f"    and {len(trace.problems) - PROBLEMS_SHOWN:,} more; --json names all"


def _lines(lines: Sequence[int]) -> str:
    shown = ", ".join(map(str, lines[:LINES_SHOWN])) + (", …" if len(lines) > LINES_SHOWN else "")
    return f"line {shown}" if len(lines) == 1 else f"lines {shown}"


def _whole(figures: Figures) -> Iterator[str]:
    yield f"{'wait':22}{_durations(figures.wait_s)}"
    if figures.logged_wait_s is not None:
        yield f"{'  in the log itself':22}{_durations(figures.logged_wait_s)}"
    slow = figures.slowdown
    ratios = (
        _NONE
        if slow is None
        else f"mean {slow.mean:,.2f}, median {slow.median:,.2f}, p99 {slow.p99:,.2f}, largest {slow.largest:,.2f}"
    )
    yield f"{'slowdown':22}{ratios}"
    yield (
        f"{'utilisation':22}{_percent(figures.utilisation)} to the last end, "
        f"{_percent(figures.utilisation_loaded)} to the last submit"
    )
    lost = figures.lost_accelerator_hours / figures.accelerator_hours if figures.accelerator_hours else None
    yield (
        f"{'evictions':22}{figures.evictions:,} of {figures.evicted_jobs:,} jobs; "
        f"{_hours(figures.lost_accelerator_hours)} accelerator-hours lost, {_percent(lost)} of those used"
    )
    fair = figures.fairness
    yield (
        f"{'finish-time fairness':22}ρ {_number(fair.rho)} over all, largest {_number(fair.rho_max)}; "
        f"above 1.05: {_percent(fair.unfair_fraction)} of jobs"
    )
    yield (
        f"{'Jain index':22}{_number(figures.jain)} of accelerator time ÷ entitlement, "
        f"{_number(figures.jain_due)} of accelerator time ÷ what was due"
    )
    if figures.anomaly is not None:
        yield f"{'sharing anomaly':22}{_anomaly(figures.anomaly)}"
    for reason, count in sorted(figures.unfinished.items()):
        yield f"{'never finished':22}{count:,} jobs: {reason}"


def _quality(quality: ForecastQuality) -> str:
    if quality.inside is None or quality.median_s is None or quality.p90_s is None:
        return f"none of {quality.asked:,} jobs was told an interval and started"
    return (
        f"of {quality.told:,} jobs that were told an interval {_percent(quality.inside)} started in it, "
        f"{quality.earlier:,} earlier, {quality.later:,} later; "
        f"error median {quality.median_s:,.0f} s, p90 {quality.p90_s:,.0f} s"
    )


def _anomaly(anomaly: Anomaly) -> str:
    if not anomaly.later:
        return f"mean {_duration(anomaly.mean_s)}; no job later than in a private cluster"
    return (
        f"mean {_duration(anomaly.mean_s)}; {anomaly.later:,} jobs later than in a private cluster, "
        f"by {_duration(anomaly.later_mean_s)} in the mean, {_duration(anomaly.worst_s)} at worst"
    )


def _causes(figures: Figures) -> Iterator[Sequence[str]]:
    yield "waited for", "quota: jobs", "accel.-hours", "capacity: jobs", "accel.-hours"
    for each in figures.causes:
        yield f"gangs of {each.gang}", *_cause(each.quota), *_cause(each.capacity)


def _cause(cause: Cause) -> tuple[str, str]:
    return f"{cause.jobs:,}", _hours(cause.accelerator_hours)


def _use(tenants: Sequence[TenantFigures]) -> Iterator[Sequence[str]]:
    yield "tenant", "jobs", "accel.-hours", "entitled", "÷ entitled", "÷ due", "evictions", "lost accel.-hours"
    for each in tenants:
        yield (
            each.tenant,
            f"{each.jobs:,}",
            _hours(each.accelerator_hours),
            f"{each.entitled:g}",
            _number(each.used_of_entitled),
            _number(each.used_of_due),
            f"{each.evictions:,}",
            _hours(each.lost_accelerator_hours),
        )


def _times(tenants: Sequence[TenantFigures]) -> Iterator[Sequence[str]]:
    yield "tenant", "wait: mean", "median", "p99", "slowdown", "ρ", "ρ max", "above 1.05", "anomaly"
    for each in tenants:
        wait, fair = each.wait_s, each.fairness
        yield (
            each.tenant,
            *((_NONE,) * 3 if wait is None else map(_duration, (wait.mean, wait.median, wait.p99))),
            _NONE if each.slowdown is None else f"{each.slowdown.mean:,.2f}",
            _number(fair.rho),
            _number(fair.rho_max),
            _percent(fair.unfair_fraction),
            _NONE if each.anomaly is None else _duration(each.anomaly.mean_s),
        )


def _table(rows: Iterator[Sequence[str]]) -> list[str]:
    """The first column to the left, the others to the right."""
    table = [list(row) for row in rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in table
    ]


def _durations(spread: Spread | None) -> str:
    if spread is None:
        return _NONE
    mean, median, p99, largest = map(_duration, (spread.mean, spread.median, spread.p99, spread.largest))
    return f"mean {mean}, median {median}, p99 {p99}, longest {largest}"


def _duration(duration_s: float) -> str:
    size, sign = abs(duration_s), "-" if duration_s < 0 else ""
    for unit_s, letter in _UNITS:
        if size >= unit_s:
            return f"{sign}{size / unit_s:,.1f}{letter}"
    return f"{sign}{size:.0f}s"


def _hours(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= 100 or not amount else f"{amount:.2f}"


def _number(value: float | None) -> str:
    return _NONE if value is None else f"{value:,.3f}"


def _percent(part: float | None) -> str:
    return _NONE if part is None else f"{100 * part:.1f} %"


def _instant(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat().replace("+00:00", "Z")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, Mapping):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value
