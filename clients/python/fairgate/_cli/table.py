"""Tables in plain text: columns by the widest cell, whole at any width, without colors unless a person looks."""

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from fairgate._cli.session import Session

GAP: Final = "   "
STYLES: Final = {
    "PENDING": "yellow",
    "ADMITTED": "cyan",
    "RUNNING": "green",
    "STOPPING": "magenta",
    "SUCCEEDED": "bold green",
    "FAILED": "bold red",
    "CANCELLED": "dim",
    "EVICTED": "magenta",
}


def lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Text]:
    """The lines of a table. Cells that are words of a state have its color."""
    table = [header, *rows]
    widths = [max(cell_len(row[column]) for row in table) for column in range(len(header))]
    return [_line(row, widths, is_header=index == 0) for index, row in enumerate(table)]


def show(session: Session, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    for line in lines(header, rows):
        session.out.print(line, soft_wrap=True)


def _line(row: Sequence[str], widths: Sequence[int], is_header: bool) -> Text:
    line = Text()
    for cell, width in zip(row, widths, strict=True):
        line.append(cell, style="bold" if is_header else STYLES.get(cell, ""))
        line.append(" " * (width - cell_len(cell)) + GAP)
    line.rstrip()
    return line
