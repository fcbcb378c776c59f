"""What the RayJobs of attempts are called: after their job and number, within what KubeRay takes."""

import hashlib
from typing import Final

from fairgate_scheduler.core.manifests.rayjob import MAX_NAME

_HASH: Final = 8


def attempt_names(job: str, uid: str, number: int) -> tuple[str, str]:
    """The name of an attempt's RayJob, and the one that it has where the first is taken by something else.

    ``job`` is the job's resource name. The first is ``NAME-NUMBER``, as long as KubeRay takes that.
    """
    name = job.rpartition("/")[2]
    ending = f"-{number}"
    digest = hashlib.sha256(f"{job}\0{uid}".encode()).hexdigest()[:_HASH]
    stem = name[: MAX_NAME - len(ending) - 1 - _HASH].rstrip("-")
    unique = f"{stem}-{digest}{ending}"
    plain = f"{name}{ending}"
    return (plain if len(plain) <= MAX_NAME else unique), unique
