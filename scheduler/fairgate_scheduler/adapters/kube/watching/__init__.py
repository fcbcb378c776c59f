"""What a cluster shows: mirrors of the objects that matter, and what they mean for attempts and capacity.

It must never write to the cluster, or believe that what it has not heard of is gone before its mirrors are complete.
"""
