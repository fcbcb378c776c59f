"""Labels and annotations by which Kueue, KubeRay and we tell things apart: not users' to write on pods."""

from typing import Final

KUEUE: Final = "kueue.x-k8s.io/"
"""Labels and annotations of this prefix talk to Kueue; an attempt's are ours."""
RAY: Final = "ray.io/"
FAIRGATE: Final = "fairgate.internal/"
RESERVED: Final = (KUEUE, RAY, FAIRGATE)

RAY_OPTIONS: Final = (f"{RAY}ft-enabled", f"{RAY}external-storage-namespace", f"{RAY}overwrite-container-cmd")
"""Annotations by which people tell KubeRay how to run a RayJob; they change no amount that is not counted."""


_NODE_MARKS: Final = tuple(
    f"{RAY}{name}"
    for name in (
        "cluster",
        "group",
        "identifier",
        "is-ray-node",
        "node-type",
        "originated-from",
        "serve",
        "worker-group",
    )
)
"""KubeRay tells pods apart by these. Others of Ray's own, such as its market type, are users' to write on Ray nodes."""


def is_reserved_on_nodes(key: str) -> bool:
    """As ``is_reserved``, of the labels of a head or worker group: KubeRay gives them to Ray and to the pods."""
    return key.startswith((KUEUE, FAIRGATE, *_NODE_MARKS))


def is_reserved(key: str) -> bool:
    """Whether only Kueue, KubeRay and our scheduler may write this label or annotation."""
    return key.startswith(RESERVED)


def not_for_users(done: str, key: str) -> str:
    """What is wrong with writing it. ``done``: sets, changes or removes."""
    return f"{done} {key}, which is not for users to write"
