"""AdmissionFairSharingStatus of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model


class AdmissionFairSharingStatus(Model):
    """AdmissionFairSharingStatus, as fairgate_kueue.base says."""

    consumed_resources: Dict[str, str]
    last_update: str
