"""A configuration as the objects that we keep in a cluster: Kueue's queues and flavors, and what namespaces get.

Pure: manifests in memory. Whatever the core admits must fit into the quotas that are written here. It must never read
or write a cluster, or say in an object what the configuration does not.
"""

from fairgate_scheduler.adapters.kube.mapping.checks import check_mapping, remarks_on_mapping
from fairgate_scheduler.adapters.kube.mapping.objects import Key, Wanted, is_ours, key_of
from fairgate_scheduler.adapters.kube.mapping.policies import Site, installation
from fairgate_scheduler.adapters.kube.mapping.rows import Overruns, overruns
from fairgate_scheduler.adapters.kube.mapping.wanted import Wishes, wanted_objects

__all__ = [
    "Key",
    "Overruns",
    "Site",
    "Wanted",
    "Wishes",
    "check_mapping",
    "installation",
    "is_ours",
    "key_of",
    "overruns",
    "remarks_on_mapping",
    "wanted_objects",
]
