"""NodeTaint of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model


class NodeTaint(Model):
    """NodeTaint, as fairgate_kueue.base says."""

    effect: str
    key: str
    time_added: str | None = None
    value: str | None = None
