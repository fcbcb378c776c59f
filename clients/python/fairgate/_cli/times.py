"""Ages and instants as people read them."""

from datetime import UTC, datetime, timedelta

from fairgate._durations import format_duration


def now() -> datetime:
    """The time of day."""
    return datetime.now(UTC)


def span(duration: timedelta) -> str:
    """A duration with its two greatest units: ``2d4h``, ``3m12s``, ``0s``."""
    seconds = max(0, int(duration.total_seconds()))
    if seconds >= 86_400:
        seconds -= seconds % 3600
    elif seconds >= 3600:
        seconds -= seconds % 60
    return format_duration(timedelta(seconds=seconds))


def age(since: datetime | None) -> str:
    """How long ago something was."""
    return "-" if since is None else span(now() - since)


def clock(at: datetime | None) -> str:
    """An instant in the local time zone."""
    return "-" if at is None else at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
