"""Values of the core as JSON: exact, readable, and in the order that they have.

The form follows from the type: a dataclass is an object of all its fields, a Fraction a text ("1/3"), a mapping with
text keys an object, any other mapping a list of pairs. A field that an old text lacks gets its default; a field that
is not known is refused, because somebody newer meant something by it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache, lru_cache
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

_exact = lru_cache(maxsize=4096)(Fraction)


@dataclass(frozen=True, slots=True)
class Codec:
    """How values of one type go to JSON and come back."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


_AS_IT_IS = Codec(lambda value: value, lambda value: value)


_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False)  # json.dumps would make one each time


def dumps(value: object) -> str:
    """Compact JSON. Raises TypeError or ValueError for what JSON has no word for, such as objects and NaN."""
    return _ENCODER.encode(value)


@cache
def codec_of(kind: Any) -> Codec:
    """The codec of a type as it stands in an annotation. Raises TypeError for one that has no form here."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is UnionType and len(arguments) == 2 and NoneType in arguments:
        return _optional(next(codec_of(each) for each in arguments if each is not NoneType))
    if origin is tuple and arguments[-1] is Ellipsis:
        return _items(codec_of(arguments[0]), tuple, iter)
    if origin is frozenset:
        return _items(codec_of(arguments[0]), frozenset, sorted)
    if origin is tuple:
        return _fixed([codec_of(each) for each in arguments])
    if origin is Mapping:
        return _mapping(arguments[0], *map(codec_of, arguments))
    return _simple(kind)


def _simple(kind: Any) -> Codec:
    if kind in (str, int, bool, Any):
        return _AS_IT_IS
    if kind is Fraction:
        return Codec(str, _exact)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return Codec(lambda value: value.value, kind)
    if is_dataclass(kind):
        return _record(kind)
    raise TypeError(f"{kind} has no form in JSON here; give it one in {__name__}")


def _optional(codec: Codec) -> Codec:
    if codec is _AS_IT_IS:
        return codec
    return Codec(
        lambda value: None if value is None else codec.encode(value),
        lambda value: None if value is None else codec.decode(value),
    )


def _items(codec: Codec, make: Callable[[Any], Any], ordered: Callable[[Any], Any]) -> Codec:
    encode, decode = codec.encode, codec.decode
    return Codec(lambda value: [encode(each) for each in ordered(value)], lambda value: make(map(decode, value)))


def _fixed(codecs: list[Codec]) -> Codec:
    return Codec(
        lambda value: [codec.encode(each) for codec, each in zip(codecs, value, strict=True)],
        lambda value: tuple(codec.decode(each) for codec, each in zip(codecs, value, strict=True)),
    )


def _mapping(key_kind: Any, key: Codec, value: Codec) -> Codec:
    if key_kind is str and value is _AS_IT_IS:
        return Codec(dict, dict)
    if key_kind is str:
        return Codec(
            lambda mapping: {name: value.encode(each) for name, each in mapping.items()},
            lambda mapping: {name: value.decode(each) for name, each in mapping.items()},
        )
    return Codec(
        lambda mapping: [[key.encode(name), value.encode(each)] for name, each in mapping.items()],
        lambda pairs: {key.decode(name): value.decode(each) for name, each in pairs},
    )


def _record(kind: Any) -> Codec:
    hints = get_type_hints(kind)
    codecs = {field.name: codec_of(hints[field.name]) for field in fields(kind)}

    def decode(stored: Mapping[str, Any]) -> Any:
        if unknown := stored.keys() - codecs.keys():
            raise ValueError(f"a stored {kind.__name__} has {', '.join(sorted(unknown))}: a newer Fairgate wrote it")
        return kind(**{name: codecs[name].decode(value) for name, value in stored.items()})

    return Codec(lambda value: {name: codec.encode(getattr(value, name)) for name, codec in codecs.items()}, decode)
