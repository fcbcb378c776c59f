"""BorrowWithinCohort of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model


class BorrowWithinCohort(Model):
    """BorrowWithinCohort, as fairgate_kueue.base says."""

    max_priority_threshold: int | None = None
    policy: Literal['Never', 'LowerPriority'] | None = None
