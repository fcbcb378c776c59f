"""``fairgate kube diff``: what in a cluster is not as a configuration wants it."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fairgate_scheduler.adapters.kube.api import Api, NotFoundError
from fairgate_scheduler.adapters.kube.keeping import Action, Apply, Clear, Make, plan
from fairgate_scheduler.adapters.kube.keeping.compare import changes, differences, value_at
from fairgate_scheduler.adapters.kube.keeping.estate import Glance
from fairgate_scheduler.adapters.kube.mapping import Site, Wanted, installation, wanted_objects
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.entrypoints.kube.sources import DIFFERENT, OK, guarded, read_config, with_cluster
from fairgate_scheduler.entrypoints.settings import ClusterSettings


def run(file: Path, settings: ClusterSettings) -> int:
    """Print one line for each object, and one for each field. 0: nothing differs; 1: something does; 2, 4, 5: errors.

    Where a quota cut has left more in use than a bound, the service keeps the bound lifted until that has ended: shown
    as a difference, too.
    """
    return guarded(lambda: _run(read_config(file), settings))


def _run(config: Config, settings: ClusterSettings) -> int:
    lines: list[str] = []

    def compare(api: Api) -> int:
        lines.extend(line for each in installation(Site()) for line in _of_installation(api, each))
        wanted = wanted_objects(config, Site())
        lines.extend(line for action in plan(wanted, Glance(api)) for line in _lines(action))
        return OK

    code = with_cluster(settings, compare)
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return code or (DIFFERENT if lines else OK)


def _of_installation(api: Api, wanted: Wanted) -> Iterator[str]:
    key = wanted.key
    try:
        seen = api.get(key.kind, key.name, key.namespace)
    except NotFoundError:
        yield from _lines(Make(wanted))
        return
    paths = [path for path in differences(wanted.manifest, seen) if path[0] != "metadata"]
    if paths:
        yield from _lines(Apply(wanted, seen, paths))


def _lines(action: Action) -> Iterator[str]:
    if isinstance(action, Apply):
        yield f"~ {action.key}"
        yield from (f"    {line}" for line in changes(action.wanted.manifest, action.seen))
    elif isinstance(action, Clear):
        yield f"~ {action.key}"
        yield from (f"    - {'.'.join(path)}: {_flow(value_at(action.seen, path))}" for path in action.paths)
    else:
        yield str(action)


def _flow(value: Any) -> str:
    return str(dict(value)) if isinstance(value, Mapping) else str(value)
