"""Jobs come in many copies of few manifests: what was understood of one is kept for the next."""

import json
import threading
from collections import OrderedDict
from dataclasses import replace
from functools import lru_cache
from typing import Final

from fairgate_scheduler.ports import ConfigVersion
from fairgate_scheduler.service import reading
from fairgate_scheduler.service.fit import Fitting
from fairgate_scheduler.service.reading import Prepared, SubmitRequest, job_name

MOST: Final = 16 * 1024 * 1024
"""Characters of all that is kept: as many as a thousand tenants with a dozen manifests each have."""
MOST_DOCUMENTS: Final = 64
"""Manifests that are kept as they were read, whichever tenant they are of: many tenants submit copies of the same."""
LONGEST: Final = 64 * 1024
"""Characters of a manifest that is kept; the largest ones seldom come twice."""

_Key = tuple[str, str, str, str]


class Templates:
    """Prepares requests as ``reading.prepare`` does; of equal ones only the first is read. Any thread may use it.

    Two requests are equal when configuration, tenant, manifest text and fields are; the job id makes no difference.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, Prepared] = OrderedDict()
        self._characters = 0
        self._fitting = Fitting()
        self._read = lru_cache(MOST_DOCUMENTS)(reading.read)
        self._turn = threading.Lock()

    def prepare(self, request: SubmitRequest, version: ConfigVersion, now_ms: int) -> Prepared:
        """As ``reading.prepare``. Raises InvalidArgument."""
        if request.job_id is not None and not reading.is_job_id(request.job_id):
            return reading.prepare(request, version.config, now_ms)  # refuses it, with all else that is wrong
        given = json.dumps(reading.as_given(request.spec), sort_keys=True)
        key = (version.etag, request.tenant, request.manifest_text, given)
        with self._turn:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
        if known is None:
            is_kept = len(request.manifest_text) <= LONGEST
            using = reading.Using(self._fitting, self._read if is_kept else reading.read)
            known = reading.prepare(replace(request, job_id=None), version.config, now_ms, using)
            if is_kept:
                self._keep(key, known)
        return _copy(known, request, now_ms)

    def _keep(self, key: _Key, prepared: Prepared) -> None:
        with self._turn:
            if key not in self._kept:
                self._characters += _size(key)
            self._kept[key] = prepared
            while self._characters > MOST:
                oldest, _ = self._kept.popitem(last=False)
                self._characters -= _size(oldest)


def _size(key: _Key) -> int:
    """The characters of manifest and fields; what was understood of them takes some times as much."""
    return len(key[2]) + len(key[3])


def _copy(template: Prepared, request: SubmitRequest, now_ms: int) -> Prepared:
    name = request.job_id or template.name
    job = replace(template.job, id=job_name(request.tenant, name), submitted_at_ms=now_ms, pending_since_ms=now_ms)
    request = replace(request, spec=template.request.spec)
    submission = replace(template.submission, submitted_by=request.submitted_by, spec=reading.kept_fields(request))
    needs_suffix = template.needs_suffix and request.job_id is None
    return Prepared(request, job, submission, name, needs_suffix)
