"""What the service keeps, as text and back: values of our frozen dataclasses, by their declared types.

A restart in a story goes through here, so what is not stored is lost, as it would be in the service.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Value = TypeVar("Value")


def dump(value: object) -> str:
    """A value as JSON."""
    return json.dumps(_encode(value), sort_keys=True)


def load(kind: type[Value], text: str) -> Value:
    """The value of this type that ``dump`` has written."""
    value: Value = _decode(kind, json.loads(text))
    return value


def _encode(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _encode(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, Mapping):
        return [[_encode(key), _encode(child)] for key, child in value.items()]
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [_encode(child) for child in value]
    return value


def _decode(kind: Any, data: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        (wanted,) = (each for each in arguments if each is not NoneType)
        return None if data is None else _decode(wanted, data)
    if origin is tuple:
        kinds = [arguments[0]] * len(data) if arguments[-1] is Ellipsis else arguments
        return tuple(_decode(each, child) for each, child in zip(kinds, data, strict=True))
    if origin is frozenset:
        return frozenset(data)
    if origin is not None:
        return {_decode(arguments[0], key): _decode(arguments[1], child) for key, child in data}
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        return kind(**{name: _decode(hints[name], child) for name, child in data.items()})
    return kind(data) if isinstance(kind, type) and issubclass(kind, Enum | Fraction) else data


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)
