"""NamespaceSelector of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.match_expression import MatchExpression


class NamespaceSelector(Model):
    """NamespaceSelector, as fairgate_kueue.base says."""

    match_expressions: List[MatchExpression] | None = None
    match_labels: Dict[str, str] | None = None
