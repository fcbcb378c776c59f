"""One failing part of a step is logged and tried again in the next turn; it never stops the rest."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

_logger = logging.getLogger(__name__)


@contextmanager
def tolerate(what: str) -> Iterator[None]:
    """Log any error of the block with what was being done, and go on after it."""
    try:
        yield
    except Exception:
        _logger.exception("%s failed; it is tried again", what)
