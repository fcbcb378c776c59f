"""How often the interpreter looks for garbage that refers to itself, where many jobs are held."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_THRESHOLDS: Final = (50_000, 20, 20)


@contextmanager
def seldom() -> Iterator[None]:
    """For as long as the block lasts, look for it seldom.

    Records never refer to each other in a circle, so most garbage goes at once without a look. As often as Python looks
    by itself, a busy server, or a replay, spends a quarter of its time on going through all the jobs that it holds.
    """
    before = gc.get_threshold()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
