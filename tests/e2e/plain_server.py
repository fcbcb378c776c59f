"""``fairgate up`` whose attempts are plain processes without Ray: the real server, fast enough to kill it often.

Run as ``python plain_server.py STATE_DIR CONFIG``. The entrypoints of jobs are run as they
are; an eviction's grace period is five seconds.
"""

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


def main(arguments: list[str]) -> int:
    """Serve until told to stop; the exit codes are those of ``fairgate up``."""
    state_dir, config = map(Path, arguments)
    settings = Settings(state_dir, job_dir=state_dir.parent, grace_ms=_GRACE_MS, poll_ms=_POLL_MS)
    return up.run(settings, config, plan_without_ray)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
