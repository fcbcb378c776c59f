"""AdmissionScope of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model


class AdmissionScope(Model):
    """AdmissionScope, as fairgate_kueue.base says."""

    admission_mode: Literal['UsageBasedAdmissionFairSharing', 'NoAdmissionFairSharing']
