"""The pure scheduling core: amounts, tenants, jobs, quota, shares, the refill and the plan, lifecycle, manifests.

It must never do I/O, read a clock, draw random numbers, use floats for money or shares, or know protobuf, SQL or
Kubernetes clients. ``now_ms`` is an argument; everything else it knows is in the values that it is given.
"""
