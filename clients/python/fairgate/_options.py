"""Options as people write them in YAML → ``OptionSpec``, with an error for each field that is not known."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from fairgate._errors import InvalidArgument, Violation
from fairgate._models import GroupChange, OptionSpec

_SPEED: Final = re.compile(r"[0-9]{1,30}(?:\.[0-9]{0,30}|/0*[1-9][0-9]{0,30})?")
_COUNT: Final = re.compile(r"[0-9]{1,9}")
_COUNTS: Final = {
    "replicas": "replicas",
    "min_replicas": "min_replicas",
    "minReplicas": "min_replicas",
    "max_replicas": "max_replicas",
    "maxReplicas": "max_replicas",
    "num_of_hosts": "num_of_hosts",
    "numOfHosts": "num_of_hosts",
}
_WORDS: Final = {"flavor": "flavor", "image": "image"}
_MAPS: Final = {
    "resources": "resources",
    "env": "env",
    "ray_start_params": "ray_start_params",
    "rayStartParams": "ray_start_params",
}
GROUP_FIELDS: Final = frozenset({*_WORDS, *_COUNTS, *_MAPS})
"""What can be said of a pod group, in both spellings."""


def parse_options(given: Sequence[OptionSpec | Mapping[str, Any]], field: str) -> tuple[OptionSpec, ...]:
    """The options of a job.

    Raises:
        InvalidArgument: a field that is not known, or a value that it can not have; all that is wrong is listed.
    """
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise InvalidArgument([Violation(field, "not a list", "write a list of options, each with its flavor")])
    reader = _Reader()
    options = tuple(
        each if isinstance(each, OptionSpec) else reader.option(each, f"{field}[{index}]")
        for index, each in enumerate(given)
    )
    if reader.violations:
        raise InvalidArgument(reader.violations)
    return options


class _Reader:
    """Reads on after each problem, so that all are told at once."""

    def __init__(self) -> None:
        self.violations: list[Violation] = []

    def option(self, given: Any, path: str) -> OptionSpec:
        fields = self._mapping(given, path, ("flavor", "speed", "groups"))
        flavor = self._word(fields["flavor"], f"{path}.flavor") if "flavor" in fields else ""
        if not flavor and "flavor" not in fields:
            self._wrong(f"{path}.flavor", "is missing", "name the flavor of the workers")
        speed = self._speed(fields["speed"], f"{path}.speed") if "speed" in fields else None
        groups = self._mapping(fields.get("groups", {}), f"{path}.groups", None)
        changes = {name: self._change(change, f"{path}.groups.{name}") for name, change in groups.items()}
        return OptionSpec(flavor, speed, changes)

    def _change(self, given: Any, path: str) -> GroupChange:
        fields = self._mapping(given, path, sorted(GROUP_FIELDS))
        values: dict[str, Any] = {}
        readers: tuple[tuple[Mapping[str, str], Callable[[Any, str], Any]], ...] = (
            (_WORDS, self._word),
            (_COUNTS, self._count),
            (_MAPS, self._texts),
        )
        for names, read in readers:
            for name in (name for name in fields if name in names):
                if names[name] in values:
                    self._wrong(f"{path}.{name}", "is there twice, in two spellings", "leave one out")
                values[names[name]] = read(fields[name], f"{path}.{name}")
        return GroupChange(**values)

    def _mapping(self, given: Any, path: str, known: Sequence[str] | None) -> dict[str, Any]:
        if not isinstance(given, Mapping):
            self._wrong(path, f"{given!r} where a mapping belongs", "write name: value")
            return {}
        for name in given:
            if known is not None and name not in known:
                close = difflib.get_close_matches(str(name), known, n=1)
                remedy = f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"
                self._wrong(f"{path}.{name}", "is not known", remedy)
        return {str(name): value for name, value in given.items() if known is None or name in known}

    def _word(self, given: Any, path: str) -> str:
        if isinstance(given, str) and given:
            return given
        self._wrong(path, f"{given!r} where a word belongs", "write one word")
        return ""

    def _count(self, given: Any, path: str) -> int | None:
        if not isinstance(given, bool) and _COUNT.fullmatch(str(given)):
            return int(given)
        self._wrong(path, f"{given!r} is not a count", "write a whole number, 0 or more")
        return None

    def _speed(self, given: Any, path: str) -> Fraction | None:
        if isinstance(given, Fraction) and given >= 0:
            return given
        if not isinstance(given, bool) and _SPEED.fullmatch(str(given)):
            return Fraction(str(given).removesuffix("."))
        self._wrong(path, f"{given!r} is not a speed", "write 0 or more, such as 2, 0.45 or 1/3")
        return None

    def _texts(self, given: Any, path: str) -> dict[str, str]:
        out = {}
        for name, value in self._mapping(given, path, None).items():
            if isinstance(value, bool | Mapping | Sequence) and not isinstance(value, str):
                self._wrong(f"{path}.{name}", f"{value!r} where a text belongs", "write it in quotes")
            else:
                out[name] = "" if value is None else str(value)
        return out

    def _wrong(self, path: str, message: str, remedy: str) -> None:
        self.violations.append(Violation(path, message, remedy))
