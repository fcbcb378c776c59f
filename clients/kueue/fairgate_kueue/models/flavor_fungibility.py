"""FlavorFungibility of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model


class FlavorFungibility(Model):
    """FlavorFungibility, as fairgate_kueue.base says."""

    preference: Literal['BorrowingOverPreemption', 'PreemptionOverBorrowing'] | None = None
    when_can_borrow: Literal['MayStopSearch', 'TryNextFlavor'] | None = None
    when_can_preempt: Literal['MayStopSearch', 'TryNextFlavor'] | None = None
