"""Implementations of the ports. An adapter must never decide anything: it stores, runs and reports."""
