"""ResourceFlavorSpec of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.node_taint import NodeTaint
from fairgate_kueue.models.toleration import Toleration


class ResourceFlavorSpec(Model):
    """ResourceFlavorSpec, as fairgate_kueue.base says."""

    node_labels: Dict[str, str] | None = None
    node_taints: List[NodeTaint] | None = None
    tolerations: List[Toleration] | None = None
    topology_name: str | None = None
