"""Condition of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model


class Condition(Model):
    """Condition, as fairgate_kueue.base says."""

    last_transition_time: str
    message: str
    observed_generation: int | None = None
    reason: str
    status: Literal['True', 'False', 'Unknown']
    type: str
