"""ValuesPerLevel of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.individual import Individual


class ValuesPerLevel(Model):
    """ValuesPerLevel, as fairgate_kueue.base says."""

    individual: Individual | None = None
    universal: str | None = None
