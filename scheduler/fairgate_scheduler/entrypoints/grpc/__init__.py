"""The wire: decodes a gRPC call, makes one call of the service, encodes the answer, and maps errors to statuses.

It must never hold a rule of scheduling, open a transaction, or let a caller past the ``Principal`` seam unseen.
"""
