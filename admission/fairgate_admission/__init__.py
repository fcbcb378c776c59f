"""The admission gate: no accelerator is used outside of an admitted job, whichever way somebody takes.

``review`` decides one request, ``policy`` is the part of it that the API server can decide alone, ``policies`` are the
manifests of that part, ``offline`` runs attack files. ``live`` is the world as it is, ``server`` answers the cluster,
``certificates`` is what it is trusted by, ``sweeper`` looks at what runs, ``installing`` is what a cluster gets of all
this. The gate counts with the scheduler's core and never with rules of its own; it must never write to the scheduler's
store, and never let through what it could not look up.
"""
