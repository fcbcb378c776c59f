"""The client's models as plain data, and that as JSON or YAML: stable, for scripts.

Instants are RFC 3339 in UTC, durations seconds with an ``s``, ratios numbers in text; names are those of the models.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from fractions import Fraction
from typing import Any

import yaml

from fairgate._cli.session import OutputFormat


def to_plain(value: object) -> Any:
    """A value as JSON has it. Private fields are left out."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            each.name: to_plain(getattr(value, each.name)) for each in fields(value) if not each.name.startswith("_")
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return f"{format(round(value.total_seconds(), 3), 'f').rstrip('0').rstrip('.')}s"
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return value


def dump(value: object, output: OutputFormat) -> str:
    """A value as a JSON or YAML document, with its line end."""
    plain = to_plain(value)
    if output is OutputFormat.YAML:
        text: str = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=120)
        return text
    return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"


def dump_line(value: object) -> str:
    """A value as JSON in one line, with its end."""
    return json.dumps(to_plain(value), ensure_ascii=False, separators=(",", ":")) + "\n"
