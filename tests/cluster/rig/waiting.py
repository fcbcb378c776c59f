"""Waiting until something is so, with an error that says what it was."""

import http
import http.client
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Final

from rig.errors import RigError

_UNCHECKED: Final = ssl._create_unverified_context()  # it is only asked whether it lives


def until(what: str, longest_s: float, check: Callable[[], bool], why: Callable[[], str] = str) -> None:
    """Return once ``check`` is true; RigError with ``why()`` after ``longest_s``."""
    ends_s = time.monotonic() + longest_s
    while not check():
        if time.monotonic() > ends_s:
            raise RigError(f"waited {longest_s:g} s in vain until {what}\n{why()}".rstrip())
        time.sleep(0.1)


def answers(url: str) -> bool:
    """Whether a health address answers 200."""
    try:
        with urllib.request.urlopen(url, timeout=2, context=_UNCHECKED) as answer:
            return bool(answer.status == http.HTTPStatus.OK)
    except (OSError, http.client.HTTPException, urllib.error.URLError):
        return False
