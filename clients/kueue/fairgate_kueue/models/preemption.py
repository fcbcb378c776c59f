"""Preemption of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.borrow_within_cohort import BorrowWithinCohort


class Preemption(Model):
    """Preemption, as fairgate_kueue.base says."""

    borrow_within_cohort: BorrowWithinCohort | None = None
    reclaim_within_cohort: Literal['Never', 'LowerPriority', 'Any'] | None = None
    within_cluster_queue: Literal['Never', 'LowerPriority', 'LowerOrNewerEqualPriority'] | None = None
