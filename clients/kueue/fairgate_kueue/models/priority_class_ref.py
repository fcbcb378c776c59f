"""PriorityClassRef of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model


class PriorityClassRef(Model):
    """PriorityClassRef, as fairgate_kueue.base says."""

    group: Literal['kueue.x-k8s.io', 'scheduling.k8s.io']
    kind: Literal['WorkloadPriorityClass', 'PriorityClass']
    name: str
