"""The objects of Kueue v0.17.0 v1beta2 as typed data, made by openapi-generator from its CRDs.

It must never talk to a cluster, hold a rule, or be edited by hand: `make gen-kueue` writes all of it.
"""

from fairgate_kueue.models.admission import Admission
from fairgate_kueue.models.admission_check import AdmissionCheck
from fairgate_kueue.models.admission_check_spec import AdmissionCheckSpec
from fairgate_kueue.models.admission_check_status import AdmissionCheckStatus
from fairgate_kueue.models.admission_checks_strategy import AdmissionChecksStrategy
from fairgate_kueue.models.admission_checks_strategy_admission_check import AdmissionChecksStrategyAdmissionCheck
from fairgate_kueue.models.admission_fair_sharing_status import AdmissionFairSharingStatus
from fairgate_kueue.models.admission_scope import AdmissionScope
from fairgate_kueue.models.borrow_within_cohort import BorrowWithinCohort
from fairgate_kueue.models.cluster_queue import ClusterQueue
from fairgate_kueue.models.cluster_queue_spec import ClusterQueueSpec
from fairgate_kueue.models.cluster_queue_status import ClusterQueueStatus
from fairgate_kueue.models.cluster_queue_status_fair_sharing import ClusterQueueStatusFairSharing
from fairgate_kueue.models.cluster_queue_status_flavors_reservation import ClusterQueueStatusFlavorsReservation
from fairgate_kueue.models.cluster_queue_status_flavors_reservation_resource import ClusterQueueStatusFlavorsReservationResource
from fairgate_kueue.models.cohort import Cohort
from fairgate_kueue.models.cohort_spec import CohortSpec
from fairgate_kueue.models.cohort_status import CohortStatus
from fairgate_kueue.models.condition import Condition
from fairgate_kueue.models.eviction import Eviction
from fairgate_kueue.models.flavor import Flavor
from fairgate_kueue.models.flavor_fungibility import FlavorFungibility
from fairgate_kueue.models.flavor_resource import FlavorResource
from fairgate_kueue.models.individual import Individual
from fairgate_kueue.models.level import Level
from fairgate_kueue.models.local_queue import LocalQueue
from fairgate_kueue.models.local_queue_spec import LocalQueueSpec
from fairgate_kueue.models.local_queue_status import LocalQueueStatus
from fairgate_kueue.models.local_queue_status_fair_sharing import LocalQueueStatusFairSharing
from fairgate_kueue.models.local_queue_status_flavors_reservation import LocalQueueStatusFlavorsReservation
from fairgate_kueue.models.local_queue_status_flavors_reservation_resource import LocalQueueStatusFlavorsReservationResource
from fairgate_kueue.models.match_expression import MatchExpression
from fairgate_kueue.models.namespace_selector import NamespaceSelector
from fairgate_kueue.models.node_taint import NodeTaint
from fairgate_kueue.models.parameters import Parameters
from fairgate_kueue.models.pod_counts import PodCounts
from fairgate_kueue.models.pod_set import PodSet
from fairgate_kueue.models.pod_set_assignment import PodSetAssignment
from fairgate_kueue.models.pod_set_update import PodSetUpdate
from fairgate_kueue.models.podset_slice_required_topology_constraint import PodsetSliceRequiredTopologyConstraint
from fairgate_kueue.models.preemption import Preemption
from fairgate_kueue.models.priority_class_ref import PriorityClassRef
from fairgate_kueue.models.reclaimable_pod import ReclaimablePod
from fairgate_kueue.models.requeue_state import RequeueState
from fairgate_kueue.models.resource_flavor import ResourceFlavor
from fairgate_kueue.models.resource_flavor_spec import ResourceFlavorSpec
from fairgate_kueue.models.resource_group import ResourceGroup
from fairgate_kueue.models.resource_request import ResourceRequest
from fairgate_kueue.models.scheduling_stats import SchedulingStats
from fairgate_kueue.models.slice import Slice
from fairgate_kueue.models.spec_fair_sharing import SpecFairSharing
from fairgate_kueue.models.spec_preemption_gate import SpecPreemptionGate
from fairgate_kueue.models.status_admission_check import StatusAdmissionCheck
from fairgate_kueue.models.status_preemption_gate import StatusPreemptionGate
from fairgate_kueue.models.toleration import Toleration
from fairgate_kueue.models.topology import Topology
from fairgate_kueue.models.topology_assignment import TopologyAssignment
from fairgate_kueue.models.topology_request import TopologyRequest
from fairgate_kueue.models.topology_spec import TopologySpec
from fairgate_kueue.models.values_per_level import ValuesPerLevel
from fairgate_kueue.models.workload import Workload
from fairgate_kueue.models.workload_priority_class import WorkloadPriorityClass
from fairgate_kueue.models.workload_spec import WorkloadSpec
from fairgate_kueue.models.workload_status import WorkloadStatus

__all__ = [
    "Admission",
    "AdmissionCheck",
    "AdmissionCheckSpec",
    "AdmissionCheckStatus",
    "AdmissionChecksStrategy",
    "AdmissionChecksStrategyAdmissionCheck",
    "AdmissionFairSharingStatus",
    "AdmissionScope",
    "BorrowWithinCohort",
    "ClusterQueue",
    "ClusterQueueSpec",
    "ClusterQueueStatus",
    "ClusterQueueStatusFairSharing",
    "ClusterQueueStatusFlavorsReservation",
    "ClusterQueueStatusFlavorsReservationResource",
    "Cohort",
    "CohortSpec",
    "CohortStatus",
    "Condition",
    "Eviction",
    "Flavor",
    "FlavorFungibility",
    "FlavorResource",
    "Individual",
    "Level",
    "LocalQueue",
    "LocalQueueSpec",
    "LocalQueueStatus",
    "LocalQueueStatusFairSharing",
    "LocalQueueStatusFlavorsReservation",
    "LocalQueueStatusFlavorsReservationResource",
    "MatchExpression",
    "NamespaceSelector",
    "NodeTaint",
    "Parameters",
    "PodCounts",
    "PodSet",
    "PodSetAssignment",
    "PodSetUpdate",
    "PodsetSliceRequiredTopologyConstraint",
    "Preemption",
    "PriorityClassRef",
    "ReclaimablePod",
    "RequeueState",
    "ResourceFlavor",
    "ResourceFlavorSpec",
    "ResourceGroup",
    "ResourceRequest",
    "SchedulingStats",
    "Slice",
    "SpecFairSharing",
    "SpecPreemptionGate",
    "StatusAdmissionCheck",
    "StatusPreemptionGate",
    "Toleration",
    "Topology",
    "TopologyAssignment",
    "TopologyRequest",
    "TopologySpec",
    "ValuesPerLevel",
    "Workload",
    "WorkloadPriorityClass",
    "WorkloadSpec",
    "WorkloadStatus",
]
