"""Parameters of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model


class Parameters(Model):
    """Parameters, as fairgate_kueue.base says."""

    api_group: str
    kind: str
    name: str
