"""``fairgate kube`` and ``fairgate import``: what a cluster gets of a configuration, and what a cluster has.

For admins and GitOps, without a running service. They must never write to a cluster.
"""
