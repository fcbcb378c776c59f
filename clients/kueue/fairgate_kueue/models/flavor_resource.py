"""FlavorResource of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model


class FlavorResource(Model):
    """FlavorResource, as fairgate_kueue.base says."""

    borrowing_limit: str | None = None
    lending_limit: str | None = None
    name: str
    nominal_quota: str
