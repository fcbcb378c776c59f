"""The queues of a cluster as a configuration, with a report of what that does not carry over.

Pure: from manifests. It must never guess silently: what means something else with us is said.
"""

from fairgate_scheduler.adapters.kube.importing.read import IMPORTED_KINDS, Imported, import_queues

__all__ = ["IMPORTED_KINDS", "Imported", "import_queues"]
