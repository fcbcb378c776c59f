"""AdmissionCheckSpec of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.parameters import Parameters


class AdmissionCheckSpec(Model):
    """AdmissionCheckSpec, as fairgate_kueue.base says."""

    controller_name: str
    parameters: Parameters | None = None
