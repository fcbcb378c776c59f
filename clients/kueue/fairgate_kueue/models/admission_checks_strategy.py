"""AdmissionChecksStrategy of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.admission_checks_strategy_admission_check import AdmissionChecksStrategyAdmissionCheck


class AdmissionChecksStrategy(Model):
    """AdmissionChecksStrategy, as fairgate_kueue.base says."""

    admission_checks: List[AdmissionChecksStrategyAdmissionCheck]
