"""States as people type them → the filter of the service, which knows ``AND`` and no ``OR``."""

import difflib
from collections.abc import Sequence
from typing import Final

from fairgate._cli.report import usage_error
from fairgate._models import JobState

_STATES: Final = [state for state in JobState if state is not JobState.UNKNOWN]


def state_filter(states: Sequence[str], text: str) -> str:
    """A filter for jobs in any of these states (none: in all) that also meet ``text``. Raises InvalidArgument."""
    wanted = {_state(word) for each in states for word in each.split(",") if word}
    if not wanted:
        return text
    conditions = [f"state = {state}" for state in wanted]
    if len(wanted) > 1:
        conditions = [f"state != {state}" for state in _STATES if state not in wanted]
    return " AND ".join([*conditions, *([text] if text.strip() else [])])


def _state(word: str) -> JobState:
    if word.upper() in _STATES:
        return JobState(word.upper())
    close = difflib.get_close_matches(word.upper(), _STATES, n=1)
    remedy = f"did you mean {close[0].lower()}?" if close else f"there are {', '.join(_STATES).lower()}"
    raise usage_error(f"{word!r} is not a state", remedy, "--state")
