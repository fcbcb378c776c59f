"""Looks again and again: tells of pods outside of reservations, and ends them where admins say so."""

import logging
import threading
from typing import Final

from fairgate_scheduler.adapters.kube.api import Api, ApiError
from fairgate_scheduler.adapters.kube.api.kinds import POD
from fairgate_scheduler.adapters.kube.reports import Reports
from fairgate_scheduler.core.manifests.plain import get_map, get_text
from fairgate_scheduler.ports import Clock

from fairgate_admission.facts.world import LookupFailedError, Settings
from fairgate_admission.live.books import Books
from fairgate_admission.server.audit import Audit
from fairgate_admission.server.metrics import Metrics
from fairgate_admission.sweeper.sweep import Sight, Stray, look

EVERY_S: Final = 60.0
EVERYWHERE: Final = "*"
REASON: Final = "OutsideOfReservation"
_logger = logging.getLogger(__name__)


class Sweeper:
    """``ends_in``: namespaces in which pods outside are ended; ``EVERYWHERE``: in all."""

    def __init__(
        self, api: Api, books: Books, settings: Settings, clock: Clock, outlets: tuple[Audit, Metrics]
    ) -> None:
        self._api, self._books, self._settings = api, books, settings
        self._audit, self._metrics = outlets
        self._reports = Reports(api, clock)
        self._seen: frozenset[str] = frozenset()
        self.ends_in: frozenset[str] = frozenset()

    def run(self, stopping: threading.Event, every_s: float = EVERY_S) -> None:
        """Sweep until it is to stop. What fails is tried again."""
        while not stopping.is_set():
            try:
                self.sweep()
            except (ApiError, LookupFailedError) as error:
                self._metrics.set_gauge("fairgate_gate_sweep_failing", "Whether the last sweep failed.", 1)
                _logger.warning("pods could not be looked at: %s", error)
            stopping.wait(every_s)

    def sweep(self) -> Sight:
        """Look once. Raises ApiError, LookupFailedError."""
        found = look(self._api, self._books, self._settings)
        for stray in found.strays:
            self._report(stray)
        self._seen = frozenset(each.uid for each in found.strays)
        gauges = (
            ("fairgate_gate_sweep_failing", "Whether the last sweep failed.", 0),
            ("fairgate_gate_pods_outside", "Pods with devices outside of reservations.", len(found.strays)),
            ("fairgate_gate_pods_unknown", "Pods with devices that could not be judged.", len(found.unknown)),
            ("fairgate_gate_pods_with_devices", "Pods with devices.", found.looked_at),
        )
        for name, says, value in gauges:
            self._metrics.set_gauge(name, says, value)
        return found

    def _report(self, stray: Stray) -> None:
        metadata = get_map(stray.pod, "metadata")
        namespace, name = get_text(metadata, "namespace"), get_text(metadata, "name")
        self._reports.tell(stray.pod, "Warning", REASON, "; ".join(map(str, stray.denials)))
        # One that was seen before: it did not come while its reservation was being written.
        is_ended = stray.uid in self._seen and not self.ends_in.isdisjoint({namespace, EVERYWHERE})
        if is_ended:
            try:
                self._api.delete(POD, name, namespace, uid=stray.uid)
            except ApiError as error:
                is_ended = False
                _logger.warning("pod %s/%s could not be ended: %s", namespace, name, error)
        self._audit.write(
            {
                "principal": "",
                "tenant": stray.tenant,
                "verb": "SWEEP",
                "apiVersion": POD.api_version,
                "kind": POD.kind,
                "namespace": namespace,
                "name": name,
                "verdict": "ended" if is_ended else "outside",
                "rule": stray.denials[0].rule,
                "rules": sorted({each.rule for each in stray.denials}),
                "uid": stray.uid,
            }
        )
