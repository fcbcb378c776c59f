"""Instants as an API server reads and writes them."""

from datetime import UTC, datetime


def timestamp(at_ms: int) -> str:
    """An instant in whole seconds, as the API server writes it."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
