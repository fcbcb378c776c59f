"""PodSetUpdate of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.toleration import Toleration


class PodSetUpdate(Model):
    """PodSetUpdate, as fairgate_kueue.base says."""

    annotations: Dict[str, str] | None = None
    labels: Dict[str, str] | None = None
    name: str
    node_selector: Dict[str, str] | None = None
    tolerations: List[Toleration] | None = None
