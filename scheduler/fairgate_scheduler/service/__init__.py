"""What Fairgate does for its callers, one module a verb: submit, cancel, update, query, quota, cycle, apply, observe.

It must never speak a wire format, know a database or a runner by name, or decide who runs: the core does.
"""
