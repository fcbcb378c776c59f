"""From the bytes of a request to the bytes of its answer, within a deadline: whatever goes wrong is a refusal."""

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as DeadlineError
from typing import Any, Final

from fairgate_admission.facts.verdict import Denial, verdict
from fairgate_admission.live.judge import Judgement
from fairgate_admission.server.admission_review import Answer, Asked, MalformedError, read_review, write_answer
from fairgate_admission.server.audit import Audit
from fairgate_admission.server.metrics import Metrics

DEADLINE_S: Final = 2.5
"""The API server gives us 3 seconds: an answer of ours says more than that there was none."""
THREADS: Final = 32
_logger = logging.getLogger(__name__)


class Gate:
    """Answers requests, several at a time. ``judge`` gets the fields of a request."""

    def __init__(
        self,
        judge: Callable[[Mapping[str, Any]], Judgement],
        audit: Audit,
        metrics: Metrics,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._judge = judge
        self._audit = audit
        self._metrics = metrics
        self._deadline_s = deadline_s
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="review")

    def close(self) -> None:
        """Let go of what is still being judged."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def answer(self, body: bytes, began_s: float) -> bytes:
        """The answer. ``began_s``: when its first byte was read, by ``time.monotonic``."""
        try:
            asked = read_review(body)
        except MalformedError as error:
            return self.refuse(error.uid, f"the AdmissionReview {error}", began_s)
        return self._finish(asked, self._judged(asked, began_s), began_s)

    def refuse(self, uid: str, found: str, began_s: float) -> bytes:
        """The answer to what can not be read as a request."""
        return self._finish(Asked(uid, {}), _refused("FG-REQ-001", found, "send less, or something else"), began_s)

    def _judged(self, asked: Asked, began_s: float) -> Judgement:
        future = self._pool.submit(self._judge, asked.fields)
        try:
            return future.result(max(0.0, self._deadline_s - (time.monotonic() - began_s)))
        except DeadlineError:
            future.cancel()
            found = f"it could not be judged within {self._deadline_s:g} seconds"
            return _refused("FG-LOOK-001", found, "try again")
        except Exception:
            _logger.exception("a request could not be judged")
            return _refused("FG-LOOK-001", "it could not be judged: the gate has failed", "tell the admins; try again")

    def _finish(self, asked: Asked, judgement: Judgement, began_s: float) -> bytes:
        found = judgement.verdict
        said = {"rule": found.rule, "reservation": judgement.reservation, "exception": ",".join(judgement.exceptions)}
        annotations = {key: text for key, text in said.items() if text}
        answer = Answer(asked.uid, found.allowed, found.message, annotations, judgement.warnings)
        self._audit.decided(asked, judgement)
        self._metrics.decided("allow" if found.allowed else "deny", found.rule, time.monotonic() - began_s)
        return write_answer(answer)


def _refused(rule: str, found: str, remedy: str) -> Judgement:
    return Judgement(verdict("The request", [Denial(rule, "", found, remedy)]))
