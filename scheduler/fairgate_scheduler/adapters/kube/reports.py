"""What has to be told about a cluster that is not as it should be: an event, a count, a line in the log."""

import logging
from collections import Counter
from typing import Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Api, ApiError, Manifest
from fairgate_scheduler.adapters.kube.api.kinds import EVENT
from fairgate_scheduler.adapters.kube.instants import timestamp
from fairgate_scheduler.adapters.kube.watching.traces import Trace
from fairgate_scheduler.ports import Clock

_logger = logging.getLogger(__name__)
_REMEMBERED: Final = 10_000
_MOST: Final = 1024
"""The longest message of an event that the API server takes."""


class Reports:
    """Tells each thing once for as long as this process lives. ``counts``: how often, by reason."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._told: dict[tuple[str, str, str], None] = {}
        self.counts: Counter[str] = Counter()

    def diverged(self, trace: Trace, why: str) -> None:
        """An attempt is not what was admitted, and is ended."""
        if trace.ray_job is not None:
            self.warn(trace.ray_job, "Diverged", f"{why}; the attempt is ended and its job waits again")

    def warn(self, about: Manifest, reason: str, message: str) -> None:
        """Tell of something that is wrong with an object. That an event can not be written is no error."""
        if self.tell(about, "Warning", reason, message):
            self.counts[reason] += 1
            metadata = about["metadata"]
            namespace = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
            place = f"{about.get('kind')} {namespace}{metadata['name']}"
            _logger.warning("%s: %s: %s", place, reason, message)

    def tell(self, about: Manifest, kind: str, reason: str, message: str) -> bool:
        """Write an event (``kind`` Normal or Warning) about an object; whether that was something new."""
        thing = (str(about["metadata"].get("uid")), reason, message)
        if thing in self._told:
            return False
        self._told[thing] = None
        while len(self._told) > _REMEMBERED:
            del self._told[next(iter(self._told))]
        try:
            self._api.create(EVENT, self._event(about, kind, reason, message))
        except ApiError as error:
            _logger.warning("the event could not be written: %s", error)
        return True

    def _event(self, about: Manifest, kind: str, reason: str, message: str) -> Manifest:
        metadata = about["metadata"]
        at = timestamp(self._clock.now_ms())
        namespace = metadata.get("namespace") or "default"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{metadata['name']}.", "namespace": namespace},
            "involvedObject": {
                "apiVersion": about.get("apiVersion"),
                "kind": about.get("kind"),
                "name": metadata["name"],
                "namespace": metadata.get("namespace"),
                "uid": metadata.get("uid"),
            },
            "type": kind,
            "reason": reason,
            "message": message[:_MOST],
            "source": {"component": names.FIELD_MANAGER},
            "reportingComponent": names.FIELD_MANAGER,
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
        }
