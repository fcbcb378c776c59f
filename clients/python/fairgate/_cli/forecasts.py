"""When a job starts, what would help it and what it costs, as people read it."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from fairgate._cli import names, times
from fairgate._cli.numbers import number
from fairgate._forecasts import JobForecast

SHOWN = 10
"""So many of the jobs that give way are named."""


def lines(forecast: JobForecast) -> Iterator[str]:
    """All that is known of it, each thing in a line."""
    yield f"Starts:    {_start(forecast)}"
    if forecast.earliest_finish is not None:
        yield f"Finishes:  {_interval(forecast.earliest_finish, forecast.latest_finish)}"
    if forecast.eviction_count:
        yield f"Evicts:    {_evictions(forecast)}"
    if forecast.costs:
        costs = ", ".join(f"{number(each.accelerator_hours)} on {each.flavor}" for each in forecast.costs)
        yield f"Costs:     {costs} (priced accelerator-hours until its time limit)"
    if forecast.is_partial:
        yield "Only part of what waits was looked at: too much waits to look at all of it."
    helps = [each.message for each in forecast.helps]
    if helps and forecast.earliest_start is not None:
        helps.append(f"wait until {_instants(forecast.earliest_start, forecast.latest_start)}")
    if helps:
        yield f"What would help: {', or '.join(helps)}"


def cell(forecast: JobForecast | None) -> str:
    """When it starts, for a table."""
    if forecast is None:
        return "-"
    if forecast.earliest_start is not None:
        is_now = forecast.latest_start is not None and forecast.latest_start <= times.now()
        return "now" if is_now else _instants(forecast.earliest_start, forecast.latest_start)
    return "later" if forecast.is_partial else "unknown"


def _start(forecast: JobForecast) -> str:
    if forecast.earliest_start is not None:
        when = _interval(forecast.earliest_start, forecast.latest_start)
        return f"{when}, on {forecast.flavor}" if forecast.flavor else when
    if not forecast.is_partial:
        return "not by anything that is known now"
    if forecast.not_before is None:
        return "not known"
    return f"not before {_instants(forecast.not_before, forecast.not_before)}; more is not known"


def _interval(earliest: datetime, latest: datetime | None) -> str:
    """An interval with how long that is from now."""
    now = times.now()
    if latest is None:
        return f"{_instants(earliest, None)}: it depends on jobs that end before their time limits"
    if latest <= now:
        return "now"
    first, last = _rounded(earliest - now), _rounded(latest - now)
    return f"{_instants(earliest, latest)} (in {first if first == last else f'{first} to {last}'})"


def _instants(earliest: datetime, latest: datetime | None) -> str:
    first = clock(earliest)
    if latest is None:
        return f"{first} at the earliest"
    last = clock(latest)
    return first if first == last else f"{first}\N{EN DASH}{last}"


def clock(at: datetime) -> str:
    """The time of day, rounded up to the minute; with the date if that is not today's."""
    local = (at + timedelta(minutes=1) - timedelta.resolution).astimezone()
    is_today = local.date() == times.now().astimezone().date()
    return local.strftime("%H:%M" if is_today else "%Y-%m-%d %H:%M")


def _rounded(span: timedelta) -> str:
    if span > timedelta(minutes=10):
        span -= span % timedelta(minutes=1)
    return times.span(span)


def _evictions(forecast: JobForecast) -> str:
    named = [names.short_job(each) for each in forecast.evictions[:SHOWN]]
    left = forecast.eviction_count - len(named)
    if left:
        more = f"{left} more" if named else f"{left}"
        named.append(f"{more} {'job' if left == 1 else 'jobs'}")
    return ", ".join(named)
