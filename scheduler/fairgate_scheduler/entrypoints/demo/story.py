"""The story that the demo plays: which job is submitted when, and looking on until all have ended."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import fairgate

from fairgate_scheduler.entrypoints.demo.evidence import Evidence, Look
from fairgate_scheduler.entrypoints.demo.server import DemoError

Show = Callable[[Look, list[str]], None]

_LOOK_S: Final = 0.5
_LONGEST_S: Final = 420
_STEPS_BEFORE_OTHERS: Final = "step 6 of "
"""What the borrower prints once it has something to lose."""


@dataclass
class Story:
    """One telling. ``told`` is what a person has been told so far, in sentences."""

    client: fairgate.Client
    show: Show
    told: list[str] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    started_s: float = field(default_factory=time.monotonic)

    def play(self, manifests: list[Path]) -> Evidence:
        """Submit everything at its time, look on, and gather what was seen.

        Raises:
            DemoError: a job was refused, or they have not ended in time.
        """
        first, *others = manifests
        self.tell("Research owns no GPU. It submits a training that borrows four H100 while nobody else wants them.")
        borrower = self._submit([first])[0]
        self._look_until(lambda: self._has_printed(borrower, _STEPS_BEFORE_OTHERS))
        self.tell("Vision and nlp ask for what they own: the borrower has to go. Others take what is free, or wait.")
        names = [borrower, *self._submit(others)]
        self._look_until(lambda: all(job.state.is_final for job in self.looks[-1].jobs))
        self.tell("All jobs have ended.")
        return self._gather(names)

    def tell(self, sentence: str) -> None:
        """Say what happens next."""
        self.told.append(sentence)
        self._look()

    def _submit(self, manifests: list[Path]) -> list[str]:
        answers = self.client.submit_many([fairgate.Submission(path) for path in manifests])
        for path, answer in zip(manifests, answers, strict=True):
            if isinstance(answer, fairgate.FairgateError):
                raise DemoError(f"{path}: {answer}")
        return [answer.name for answer in answers if isinstance(answer, fairgate.Job)]

    def _look(self) -> None:
        jobs, tenants = tuple(self.client.list()), tuple(self.client.tenants())
        self.looks.append(Look(time.monotonic() - self.started_s, jobs, tenants))
        self.show(self.looks[-1], self.told)

    def _look_until(self, is_done: Callable[[], bool]) -> None:
        while True:
            self._look()
            if is_done():
                return
            failed = [job for job in self.looks[-1].jobs if job.state is fairgate.JobState.FAILED]
            if failed or self.looks[-1].at_s > _LONGEST_S:
                states = "; ".join(f"{job.name} {job.state} {job.message}" for job in failed or self.looks[-1].jobs)
                raise DemoError(f"after {self.looks[-1].at_s:.0f} s: {states}\n{self._last_lines(failed)}")
            time.sleep(_LOOK_S)

    def _has_printed(self, job: str, begin: str) -> bool:
        return any(line.text.startswith(begin) for line in self._lines(job))

    def _lines(self, job: str) -> Iterator[fairgate.LogLine]:
        for attempt in range(1, self.client.get(job).attempt_count + 1):
            yield from self.client.logs(job, attempt=attempt, follow=False)

    def _last_lines(self, jobs: list[fairgate.Job]) -> str:
        return "\n".join(f"{job.id}: {line.text}" for job in jobs for line in list(self._lines(job.name))[-10:])

    def _gather(self, names: list[str]) -> Evidence:
        jobs = {job.id: job for job in map(self.client.get, names)}
        logs = {job.id: tuple(self._lines(job.name)) for job in jobs.values()}
        last = self.client.sequence()
        events = []
        for update in self.client.watch(after_sequence=0):
            events.append(update.event)
            if update.sequence >= last:
                break
        return Evidence(tuple(self.looks), tuple(events), jobs, logs)
