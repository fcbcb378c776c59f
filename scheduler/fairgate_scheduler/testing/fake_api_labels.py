"""Label selectors as kubectl takes them."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from fairgate_scheduler.adapters.kube.api import InvalidError

Labels = Mapping[str, str]
_TERM: Final = re.compile(r"[^,(]+(?:\([^)]*\))?")
_SET: Final = re.compile(r"(\S+)\s+(in|notin)\s*\(([^)]*)\)")
_EQUAL: Final = re.compile(r"([^\s=!]+)\s*(==?|!=)\s*(\S*)")
_NAME: Final = re.compile(r"(!?)\s*([^\s=!()]+)")


def selects(selector: str) -> Callable[[Labels], bool]:
    """Whether labels are selected. Raises InvalidError."""
    terms = [_term(text.strip()) for text in _TERM.findall(selector)]
    return lambda labels: all(term(labels) for term in terms)


def _term(text: str) -> Callable[[Labels], bool]:
    if found := _SET.fullmatch(text):
        name, word, values = found[1], found[2], {value.strip() for value in found[3].split(",")}
        return lambda labels: (labels.get(name) in values) is (word == "in")
    if found := _EQUAL.fullmatch(text):
        name, sign, value = found[1], found[2], found[3]
        return lambda labels: (labels.get(name) == value) is (sign != "!=")
    if found := _NAME.fullmatch(text):
        is_absent, name = bool(found[1]), found[2]
        return lambda labels: (name not in labels) is is_absent
    raise InvalidError(f"unable to parse requirement: {text!r}", "BadRequest")
