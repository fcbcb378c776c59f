"""ClusterQueueSpec of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.admission_checks_strategy import AdmissionChecksStrategy
from fairgate_kueue.models.admission_scope import AdmissionScope
from fairgate_kueue.models.flavor_fungibility import FlavorFungibility
from fairgate_kueue.models.namespace_selector import NamespaceSelector
from fairgate_kueue.models.preemption import Preemption
from fairgate_kueue.models.resource_group import ResourceGroup
from fairgate_kueue.models.spec_fair_sharing import SpecFairSharing


class ClusterQueueSpec(Model):
    """ClusterQueueSpec, as fairgate_kueue.base says."""

    admission_checks_strategy: AdmissionChecksStrategy | None = None
    admission_scope: AdmissionScope | None = None
    cohort_name: str | None = None
    fair_sharing: SpecFairSharing | None = None
    flavor_fungibility: FlavorFungibility | None = None
    namespace_selector: NamespaceSelector | None = None
    preemption: Preemption | None = None
    queueing_strategy: Literal['StrictFIFO', 'BestEffortFIFO'] | None = None
    resource_groups: List[ResourceGroup] | None = None
    stop_policy: Literal['None', 'Hold', 'HoldAndDrain'] | None = None
