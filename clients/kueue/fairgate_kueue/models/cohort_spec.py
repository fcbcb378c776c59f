"""CohortSpec of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.resource_group import ResourceGroup
from fairgate_kueue.models.spec_fair_sharing import SpecFairSharing


class CohortSpec(Model):
    """CohortSpec, as fairgate_kueue.base says."""

    fair_sharing: SpecFairSharing | None = None
    parent_name: str | None = None
    resource_groups: List[ResourceGroup] | None = None
