"""One line of JSON for each decision: who, what, the verdict and why. Never what a manifest holds."""

import json
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

from fairgate_scheduler.core.manifests.plain import get_map, get_text
from fairgate_scheduler.ports import Clock

from fairgate_admission.live.judge import Judgement
from fairgate_admission.server.admission_review import Asked


class Audit:
    """Writes lines to a stream. May be used by several threads."""

    def __init__(self, clock: Clock, stream: TextIO | None = None) -> None:
        self._clock = clock
        self._stream = stream or sys.stdout
        self._lock = threading.Lock()

    def decided(self, asked: Asked, judgement: Judgement) -> None:
        """One decision on a request."""
        denials = judgement.verdict.denials
        self.write(
            {
                "principal": asked.text("username"),
                "tenant": judgement.tenant,
                "verb": asked.text("operation"),
                **_object(asked),
                "verdict": "allow" if judgement.verdict.allowed else "deny",
                "rule": judgement.verdict.rule,
                "rules": sorted({each.rule for each in denials}),
                "fields": [each.field for each in denials],
                "reservation": judgement.reservation,
                "exceptions": list(judgement.exceptions),
                "uid": asked.uid,
                "dryRun": asked.is_dry_run,
            }
        )

    def write(self, fields: Mapping[str, Any]) -> None:
        """One line with the time before it."""
        now = datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": now.replace("+00:00", "Z"), **fields}, ensure_ascii=False)
        with self._lock:
            self._stream.write(line + "\n")
            self._stream.flush()


def _object(asked: Asked) -> dict[str, str]:
    there = asked.fields.get("object") or asked.fields.get("old")
    return {
        "apiVersion": get_text(there, "apiVersion"),
        "kind": get_text(there, "kind"),
        "subresource": asked.text("subresource"),
        "namespace": asked.text("namespace"),
        "name": asked.text("name") or get_text(get_map(there, "metadata"), "generateName"),
    }
