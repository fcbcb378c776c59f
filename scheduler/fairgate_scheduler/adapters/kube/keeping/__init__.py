"""The objects of a configuration kept in a cluster as they are to be: made, set back when changed by hand, pruned.

It writes only what differs, and asks the server nothing while nothing changes. It must never change what is not ours,
delete a namespace, or take a queue from under jobs that still hold something of it.
"""

from fairgate_scheduler.adapters.kube.keeping.estate import Estate, Seen
from fairgate_scheduler.adapters.kube.keeping.keeper import Keeper, Kept
from fairgate_scheduler.adapters.kube.keeping.plan import Action, Apply, Clear, Delete, Make, Refuse, Release, plan

__all__ = [
    "Action",
    "Apply",
    "Clear",
    "Delete",
    "Estate",
    "Keeper",
    "Kept",
    "Make",
    "Refuse",
    "Release",
    "Seen",
    "plan",
]
