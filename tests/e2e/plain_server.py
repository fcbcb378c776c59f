"""``fairgate up`` whose attempts are plain processes without Ray: the real server, fast enough to kill it often.

Run as ``python plain_server.py`` beside a ``fairgate.yaml``, with ``FAIRGATE_STATE_DIR``. Entrypoints are run as they
are; an eviction's grace period is five seconds.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from fairgate_scheduler.adapters.local_ray.layout import State
from fairgate_scheduler.adapters.local_ray.plan import Plan
from fairgate_scheduler.adapters.local_ray.plan import Settings as RaySettings
from fairgate_scheduler.adapters.local_ray.planning import make_plan
from fairgate_scheduler.entrypoints import up
from fairgate_scheduler.entrypoints.settings import Settings
from fairgate_scheduler.ports import Launch

_GRACE_MS: Final = 5_000
_POLL_MS: Final = 100


def plan_without_ray(launch: Launch, settings: RaySettings, state: State) -> Plan:
    """What the attempt would do on Ray, without Ray."""
    return replace(make_plan(launch, settings, state), resources=None)


if __name__ == "__main__":
    settings = Settings(Path(os.environ["FAIRGATE_STATE_DIR"]), job_dir=Path(), grace_ms=_GRACE_MS, poll_ms=_POLL_MS)
    sys.exit(up.run(settings, Path("fairgate.yaml"), plan_without_ray))
