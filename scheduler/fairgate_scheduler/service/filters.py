"""The filter of a list: a small part of https://google.aip.dev/160, ``FIELD OP VALUE`` joined by ``AND``."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fairgate_scheduler.core.jobs import Job, JobState
from fairgate_scheduler.ports import Submission
from fairgate_scheduler.service.errors import InvalidArgument, Violation

_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_TOKEN: Final = re.compile(r'\s*(?:(?P<op><=|>=|!=|=|<|>)|"(?P<quoted>[^"]*)"|(?P<word>[^\s"=<>!]+))')
_LABELS: Final = "labels."
_REMEDY: Final = "write for example: state = RUNNING AND priority >= 5 AND labels.project = x"
_FIELDS: Final = "state, tenant, job_id, priority, labels.KEY"


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison. ``value`` has the type of the field."""

    field: str
    op: str
    value: str | int

    def holds(self, job: Job, submission: Submission) -> bool:
        """Whether a job is meant. A label that a job does not have equals nothing."""
        return _COMPARE[self.op](_value(self.field, job, submission), self.value)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int


def parse_filter(text: str) -> tuple[Condition, ...]:
    """The conditions of a filter, all of which must hold; none for an empty one.

    Raises:
        InvalidArgument: it names the column (from 1) and what was expected there.
    """
    tokens = list(_tokens(text))
    conditions = []
    for start in range(0, len(tokens), 4):
        conditions.append(_condition(tokens[start : start + 3], len(text)))
        rest = tokens[start + 3 : start + 5]
        if rest and (rest[0].kind != "word" or rest[0].text != "AND"):
            raise _wrong(rest[0].column, f"{rest[0].text!r} where AND was expected")
        if len(rest) == 1:
            raise _wrong(len(text) + 1, "nothing follows AND")
    return tuple(conditions)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            column = at + len(text[at:]) - len(text[at:].lstrip()) + 1
            raise _wrong(column, f"{text[column - 1 :]!r} can not be read (a quote without its end?)")
        kind = match.lastgroup or ""
        yield _Token(kind, match[kind], match.start(kind) + 1)
        at = match.end()


def _condition(tokens: list[_Token], length: int) -> Condition:
    kinds = [each.kind for each in tokens]
    if kinds[0] != "word":
        raise _wrong(tokens[0].column, f"{tokens[0].text!r} where a field was expected ({_FIELDS})")
    if len(kinds) < 2 or kinds[1] != "op":
        found = f"{tokens[1].text!r}" if len(kinds) > 1 else "the end"
        raise _wrong(tokens[1].column if len(kinds) > 1 else length + 1, f"{found} where one of = != < <= > >= was due")
    if len(kinds) < 3 or kinds[2] == "op":
        raise _wrong(tokens[2].column if len(kinds) > 2 else length + 1, f"no value after {tokens[1].text!r}")
    field, op, value = tokens
    return Condition(field.text, op.text, _typed(field, op, value))


def _typed(field: _Token, op: _Token, value: _Token) -> str | int:
    if field.text == "priority":
        if not re.fullmatch(r"-?[0-9]{1,10}", value.text):
            raise _wrong(value.column, f"priority {value.text!r} is not a whole number")
        return int(value.text)
    if field.text not in ("state", "tenant", "job_id") and not (
        field.text.startswith(_LABELS) and len(field.text) > len(_LABELS)
    ):
        raise _wrong(field.column, f"no field {field.text!r}; there are {_FIELDS}")
    if op.text not in ("=", "!="):
        raise _wrong(op.column, f"{field.text} can be compared by = and != only")
    if field.text == "state" and value.text not in JobState.__members__:
        raise _wrong(value.column, f"no state {value.text!r}; there are {', '.join(JobState.__members__)}")
    return value.text


def _value(field: str, job: Job, submission: Submission) -> object:
    if field.startswith(_LABELS):
        labels = submission.spec.get("labels") or {}
        return labels.get(field.removeprefix(_LABELS))
    if field == "job_id":
        return job.id.rpartition("/")[2]
    return {"state": job.state.value, "tenant": job.tenant, "priority": job.priority}[field]


def _wrong(column: int, message: str) -> InvalidArgument:
    return InvalidArgument([Violation("filter", f"column {column}: {message}", _REMEDY)])
