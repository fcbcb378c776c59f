"""Fairgate's scheduler: decides which job runs now, on which flavor, and who gives way.

Read the packages in the order of a job's way: ``entrypoints`` (gRPC, loop) → ``service`` (one module a verb) →
``core`` (pure decisions) → ``ports`` ← ``adapters`` (store, runner). It must never be imported by the client.
"""
