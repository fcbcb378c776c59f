"""Pages of short lists that the service returns whole."""

from collections.abc import Sequence
from typing import TypeVar

from fairgate_scheduler.entrypoints.grpc import names

Item = TypeVar("Item")


def cut(items: Sequence[Item], page_size: int, page_token: str) -> tuple[Sequence[Item], str]:
    """The page that a token asks for, and the token of the next one, "" after the last. Raises InvalidArgument.

    A token is the place of its first item: what comes or goes before it in the meantime moves the pages.
    """
    size = names.read_page_size(page_size)
    if page_token and not (page_token.isascii() and page_token.isdigit() and len(page_token) <= 9):
        raise names.invalid("page_token", "is not a token of this list", "begin again without a token")
    start = int(page_token or 0)
    end = start + size
    return items[start:end], str(end) if end < len(items) else ""
