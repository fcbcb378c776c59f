"""The names, labels and annotations by which objects in a cluster are ours, and say whose they are."""

from typing import Final

from fairgate_scheduler.core.tenancy import Tenant
from fairgate_scheduler.documents.annotations import PREFIX

FIELD_MANAGER: Final = "fairgate"
"""Who we are to server-side apply. Fields of other managers are not ours."""

SYSTEM_NAMESPACE: Final = "fairgate-system"
SERVICE_ACCOUNT: Final = "fairgate-scheduler"

MANAGED: Final = "app.kubernetes.io/managed-by"
"""A label of every object that we made; its value is ``FIELD_MANAGER``. Others are never changed or deleted."""

TENANT: Final = f"{PREFIX}tenant-id"
"""Label: the tenant that an object belongs to."""
JOB: Final = f"{PREFIX}job"
"""Annotation: the resource name of the job that an attempt, and each pod of it, belongs to."""
JOB_UID: Final = f"{PREFIX}job-uid"
"""Label: the job's uid, so that an attempt of an earlier job of the same name is not taken for its."""
ATTEMPT: Final = f"{PREFIX}attempt"
"""Label: the number of the attempt; on the RayJob and on every pod of it."""
FLAVOR: Final = f"{PREFIX}flavor"
"""Label of a pod: the flavor that it is charged to."""
DIGEST: Final = f"{PREFIX}digest"
"""Annotation: of the spec of an attempt as we wrote it, so that a change by others is seen."""
NOTICE: Final = f"{PREFIX}notice"
"""Annotation of an attempt and its pods: why it is asked to end. The pods see it as a file."""
STOP_AT: Final = f"{PREFIX}stop-at"
"""Annotation of an attempt: when it is deleted if it has not ended, RFC 3339; kept there to outlive a crash of ours."""

QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
WORKLOAD_OF: Final = "kueue.x-k8s.io/job-uid"
"""Label of a Workload: the uid of the object that it stands for."""
LAUNCH_QUEUE: Final = "fairgate"
"""The LocalQueue of attempts, in each tenant's namespace. Only we may use it."""
INBOX_QUEUE: Final = "inbox"
"""The LocalQueue of requests, in each tenant's namespace: held for ever, so nothing in it is ever started by Kueue."""
HELD_CLUSTER_QUEUE: Final = "fairgate-inbox"
"""The ClusterQueue behind all inboxes, with ``stopPolicy: Hold``."""

NOTICE_VARIABLE: Final = "FAIRGATE_NOTICE"
NOTICE_FOLDER: Final = "/var/run/fairgate"
NOTICE_NAME: Final = "notice"
"""``NOTICE_VARIABLE`` names this file of that folder in every container: empty until the attempt is asked to end."""

OPTION: Final = f"{PREFIX}option"
"""Label: the flavor that names the option of an attempt."""
PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"


def namespace_of(tenant: Tenant) -> str:
    """The namespace of a leaf tenant; that of its id where the configuration names none."""
    return tenant.namespace or tenant.id
