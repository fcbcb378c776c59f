"""Attack files: requests to the Kubernetes API and the verdict that each must get, tried without a cluster.

It must never hold a rule of its own: what a file's requests get is what the gate would say to them.
"""
