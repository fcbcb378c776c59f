"""The backstop: rules of identity and structure that the API server applies itself, with no service of ours running.

The manifests that ship are in ``policies``; this package says the same in Python, so that attack files can be tried
without a cluster. It must never look anything up beyond the request and its namespace.
"""
