"""What an API server with KubeRay's CRDs would refuse in a manifest, known before it is asked.

The types of the CRDs are package data. It must never hold a rule that the CRDs do not have: what KubeRay, Kueue or
quota refuse later is found by ``core.manifests``.
"""

from fairgate_scheduler.adapters.kube.schema.checking import check_manifest
from fairgate_scheduler.adapters.kube.schema.compact import compact

__all__ = ["check_manifest", "compact"]
