"""Runs each attempt on this machine, on a Ray instance of its own that has exactly its admitted logical resources.

``runner`` is the port's implementation and lives in the server; ``supervisor`` is one process per attempt that survives
the server. They talk through files in the attempt's directory and nothing else. This package must never decide who
runs, start an attempt twice, or leave a process behind; it must never give a job the server's own environment.
"""
