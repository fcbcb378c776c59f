"""An entrypoint as an argument for ``sh -c`` such that, where it can be, the driver is the program and not a shell."""

import re
import shlex
from typing import Final

_SIMPLE: Final = re.compile(r"((?:[A-Za-z_]\w*=[\w./:,@%+-]*\s+)*)([\w./~+-]+)(\s[^\n]*)?")
_OPERATORS: Final = frozenset("();<>|&")

# What the shell itself does: there is no program of these names to become, or it would not do the same.
_SHELL_WORDS: Final = (
    ". : [ alias bg break case cd command continue do done echo elif else esac eval exec exit export false fg fi for"
    " getopts hash if jobs kill local printf pwd read readonly return set shift source test then time times trap true"
    " type ulimit umask unalias unset until wait while"
)
_OF_THE_SHELL: Final = frozenset(_SHELL_WORDS.split())


def shell_line(entrypoint: str) -> str:
    """The entrypoint; if it is one simple command, the shell becomes that command instead of waiting for it.

    Then notice reaches the program alone, and its exit code is the driver's. A shell in between dies of the notice at
    once, and nobody learns how the program ended.
    """
    line = entrypoint.strip()
    match = _SIMPLE.fullmatch(line)
    if match is None or match[2] in _OF_THE_SHELL or _has_operators(line):
        return line
    return f"{match[1]}exec {match[2]}{match[3] or ''}"


def _has_operators(line: str) -> bool:
    try:
        words = list(shlex.shlex(line, posix=False, punctuation_chars=True))
    except ValueError:
        return True
    return "`" in line or any(_OPERATORS.issuperset(word) for word in words)
