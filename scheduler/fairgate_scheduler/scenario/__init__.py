"""Scenario files: a quota story and what must come of it, replayed through the real core on virtual time.

It must never hold a scheduling rule of its own, read a clock or open a file.
"""
