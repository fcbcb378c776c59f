"""``fairgate import kueue``: the queues of a cluster, or of files, as a configuration."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from fairgate_scheduler.adapters.kube.api import Api, Manifest
from fairgate_scheduler.adapters.kube.importing import IMPORTED_KINDS, import_queues
from fairgate_scheduler.adapters.kube.mapping import check_mapping
from fairgate_scheduler.core.config_checks import check_config
from fairgate_scheduler.documents.render import render_config
from fairgate_scheduler.entrypoints.kube.sources import OK, guarded, read_manifests, with_cluster
from fairgate_scheduler.entrypoints.settings import ClusterSettings


def run(files: Sequence[Path], settings: ClusterSettings) -> int:
    """The configuration to standard output, all that it is not to standard error. 0: done; 2, 4, 5: errors."""
    if files:
        return guarded(lambda: _print([manifest for file in files for manifest in read_manifests(file)]))

    def read(api: Api) -> int:
        return _print([manifest for kind in IMPORTED_KINDS for manifest in api.list(kind).items])

    return with_cluster(settings, read)


def _print(manifests: Iterable[Manifest]) -> int:
    imported = import_queues(manifests)
    sys.stdout.write(render_config(imported.config))
    for remark in imported.remarks:
        sys.stderr.write(f"differs: {remark}\n")
    for fault in check_config(imported.config) or check_mapping(imported.config):
        sys.stderr.write(f"to mend: {'.'.join(fault.where)}: {fault.message} ({fault.remedy})\n")
    return OK
