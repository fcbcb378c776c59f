"""Replays of real job logs: log text → jobs, through the real core on virtual time → what it did to whom.

It must never hold a scheduling rule of its own, read a clock, or touch a file: text and a configuration come in, a
report comes out. The private cluster with which a replay is compared is a yardstick and never decides anything.
"""
