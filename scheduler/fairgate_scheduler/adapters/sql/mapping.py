"""Rows ↔ records of the core and the ports: one column a field, under the same name.

Numbers, texts, truth values and enums are columns that SQL can read; everything else is a JSON text.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from enum import Enum
from functools import lru_cache
from types import NoneType
from typing import Any, Final, Generic, TypeVar, get_args, get_type_hints

from fairgate_scheduler.adapters.sql.codec import codec_of, dumps
from fairgate_scheduler.core.jobs import Attempt, Job
from fairgate_scheduler.core.lifecycle import Effect, Event
from fairgate_scheduler.core.snapshot import History
from fairgate_scheduler.ports import ConfigVersion, RequestRecord, Submission

T = TypeVar("T")

Column = tuple[str, Callable[[Any], Any] | None, Callable[[Any], Any] | None]
"""The name, and how a value gets into the column and out of it; ``None``: as it is."""


_UNKNOWN = object()
_MOST_SHARED: Final = 4096


class RowMapping(Generic[T]):
    """How records of one dataclass lie in a table. Records with equal texts in a ``shared`` column share its value, and
    a value that many records share is not encoded for each.
    """

    def __init__(self, kind: type[T], *shared: str) -> None:
        record: Any = kind
        hints = get_type_hints(kind)
        self._kind: Callable[..., T] = kind
        columns = (_column(field.name, hints[field.name]) for field in fields(record))
        self._columns = [_shared(*column) if column[0] in shared else column for column in columns]

    @property
    def names(self) -> list[str]:
        """The columns, in the order in which ``record`` wants their values."""
        return [name for name, _, _ in self._columns]

    def row(self, record: T) -> dict[str, Any]:
        """The columns of a record. Raises TypeError or ValueError for free-form parts that JSON has no word for."""
        return {
            name: getattr(record, name) if encode is None else encode(getattr(record, name))
            for name, encode, _ in self._columns
        }

    def changes(self, before: T | None, record: T) -> dict[str, Any]:
        """The columns of a record that are not as they were before; ``None``: it is not known how they were."""
        return {
            name: value if encode is None else encode(value)
            for name, encode, _ in self._columns
            if (value := getattr(record, name)) is not (_UNKNOWN if before is None else getattr(before, name))
        }

    def record(self, values: Sequence[Any]) -> T:
        """The record of the values of ``names``."""
        pairs = zip(self._columns, values, strict=True)
        return self._kind(*[value if decode is None else decode(value) for (_, _, decode), value in pairs])


def _column(name: str, hint: Any) -> Column:
    kinds = [each for each in get_args(hint) if each is not NoneType] if NoneType in get_args(hint) else [hint]
    codec = codec_of(hint)
    if kinds[0] in (str, int, bool):
        return name, None, None
    if isinstance(kinds[0], type) and issubclass(kinds[0], Enum):
        return name, codec.encode, codec.decode
    return name, lambda value: dumps(codec.encode(value)), lambda text: codec.decode(json.loads(text))


def _shared(name: str, encode: Callable[[Any], Any] | None, decode: Callable[[Any], Any] | None) -> Column:
    return name, encode and _of_same(encode), decode and lru_cache(maxsize=_MOST_SHARED)(decode)


def _of_same(encode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Remembers what became of the very same objects; equal ones may be costly to compare, or can not be hashed."""
    known: dict[int, tuple[Any, Any]] = {}

    def encode_once(value: Any) -> Any:
        found = known.get(id(value))
        if found is None:
            if len(known) >= _MOST_SHARED:
                known.clear()
            # The value is kept too, so that no other object gets its id.
            found = known[id(value)] = (value, encode(value))
        return found[1]

    return encode_once


JOB = RowMapping(Job, "options", "backoff", "state", "fallback")  # few kinds of jobs are submitted many times
SUBMISSION = RowMapping(Submission)
ATTEMPT = RowMapping(Attempt, "demand", "state")
EVENT = RowMapping(Event)
REQUEST = RowMapping(RequestRecord)
EFFECT = RowMapping(Effect)
HISTORY = RowMapping(History)
CONFIG = RowMapping(ConfigVersion)
