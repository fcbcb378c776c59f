"""LocalQueueSpec of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.spec_fair_sharing import SpecFairSharing


class LocalQueueSpec(Model):
    """LocalQueueSpec, as fairgate_kueue.base says."""

    cluster_queue: str | None = None
    fair_sharing: SpecFairSharing | None = None
    stop_policy: Literal['None', 'Hold', 'HoldAndDrain'] | None = None
