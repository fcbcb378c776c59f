"""Rows of a log with a header line, and what becomes of each: a job, left out for a reason, or a problem."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fairgate_scheduler.documents.problems import DocumentError, Problem, suggest
from fairgate_scheduler.replay.trace import Trace, TraceJob
from fairgate_scheduler.replay.values import Malformed

CELL_MAX: Final = 1_000_000
"""No cell of a log is longer; sacct's SubmitLine and Comment can be long."""

Cells = Mapping[str, str]


class LeftOut(Exception):  # noqa: N818 - caught where the rows are read
    """A row is in order, but no job of the replay; the message says why."""


class Table:
    """The rows of a text, by column name."""

    def __init__(self, text: str, delimiter: str, file: str) -> None:
        lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
        if not any(line.strip() for line in lines):
            raise _unusable(file, "the log is empty", "check the path, and the command that wrote it")
        self.file = file
        self._lines = _cells(lines, delimiter)
        self.first_line, header = next(self._lines)
        if header[-1] == "":  # sacct -p ends every line with its delimiter
            header = header[:-1]
        self.columns = [name.strip() for name in header]
        self._delimiter = delimiter

    def require(self, *choices: Sequence[str]) -> None:
        """Of each choice, at least one column must be there.

        Raises:
            DocumentError: one is missing.
        """
        missing = [choice for choice in choices if not set(choice) & set(self.columns)]
        if missing:
            wanted = "; ".join(" or ".join(choice) for choice in missing)
            near = suggest(missing[0][0], self.columns, "one of the columns")
            raise _unusable(self.file, f"no column {wanted}", f"the first line names the columns; {near}")

    def rows(self) -> Iterator[tuple[int, Cells | Malformed]]:
        """Each row with the line that it begins on."""
        count = len(self.columns)
        for line, cells in self._lines:
            if len(cells) == count + 1 and cells[-1] == "":
                cells.pop()
            if len(cells) == count:
                yield line, dict(zip(self.columns, cells, strict=True))
            else:
                message = f"{len(cells)} cells where the first line has {count}"
                yield (
                    line,
                    Malformed("", message, f"is there a {self._delimiter!r} in a value, or is the line cut off?"),
                )


@dataclass
class _Reading:
    jobs: list[TraceJob] = field(default_factory=list)
    left_out: dict[str, list[int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)


def read_rows(table: Table, log_format: str, read: Callable[[Cells, int], TraceJob], notes: Mapping[str, int]) -> Trace:
    """All rows of a log. ``read`` makes a job of one, or raises ``LeftOut`` or ``Malformed``; it counts in ``notes``.

    Raises:
        DocumentError: there is no job in it.
    """
    reading = _Reading()
    for line, cells in table.rows():
        try:
            if isinstance(cells, Malformed):
                raise cells
            job = read(cells, line)
            known = reading.lines.setdefault(job.id, line)
            if known != line:
                raise Malformed("", f"{job.id} is in line {known} already", "every job has one row")
            reading.jobs.append(job)
        except LeftOut as why:
            reading.left_out.setdefault(str(why), []).append(line)
        except Malformed as wrong:
            reading.problems.append(Problem(wrong.column, line, wrong.message, wrong.remedy, table.file))
    if not reading.jobs:
        raise DocumentError([*reading.problems, _no_jobs(table, reading)])
    jobs = sorted(reading.jobs, key=lambda job: (job.submitted_at_ms, job.line))
    left_out = {why: tuple(lines) for why, lines in reading.left_out.items()}
    return Trace(table.file, log_format, tuple(jobs), left_out, tuple(reading.problems), notes)


def _cells(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line that is not blank. Only comma-separated logs quote."""
    if delimiter != ",":
        yield from ((at, line.split(delimiter)) for at, line in enumerate(lines, 1) if line.strip())
        return
    csv.field_size_limit(CELL_MAX)
    reader = csv.reader(lines)
    before = 0
    for cells in reader:
        if cells:
            yield before + 1, cells
        before = reader.line_num


def _unusable(file: str, message: str, remedy: str) -> DocumentError:
    return DocumentError([Problem("", 1, message, remedy, file)])


def _no_jobs(table: Table, reading: _Reading) -> Problem:
    why = ", ".join(f"{len(lines)} {why}" for why, lines in reading.left_out.items())
    return Problem("", table.first_line, "no job in it that can be replayed", why, table.file)
