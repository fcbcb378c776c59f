"""``fairgate kube check``: what in a cluster would break a service with a configuration."""

import sys
from pathlib import Path

from fairgate_scheduler.adapters.kube.api import Api
from fairgate_scheduler.adapters.kube.inspection import Severity, inspect
from fairgate_scheduler.adapters.kube.mapping import Site
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.entrypoints.kube.sources import DIFFERENT, OK, guarded, read_config, with_cluster
from fairgate_scheduler.entrypoints.settings import ClusterSettings


def run(file: Path, settings: ClusterSettings) -> int:
    """Print the findings, errors first. 0: no errors; 1: errors; 2, 4, 5: it could not be checked."""
    return guarded(lambda: _run(read_config(file), settings))


def _run(config: Config, settings: ClusterSettings) -> int:
    def check(api: Api) -> int:
        found = inspect(api, config, Site())
        for each in found:
            sys.stdout.write(f"{each.severity.value}: {each.where}: {each.message}\n  fix: {each.remedy}\n")
        errors = sum(each.severity is Severity.ERROR for each in found)
        sys.stdout.write(f"{errors} errors, {len(found) - errors} warnings\n")
        return DIFFERENT if errors else OK

    return with_cluster(settings, check)
