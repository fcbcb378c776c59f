"""ResourceGroup of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.flavor import Flavor


class ResourceGroup(Model):
    """ResourceGroup, as fairgate_kueue.base says."""

    covered_resources: List[str]
    flavors: List[Flavor]
