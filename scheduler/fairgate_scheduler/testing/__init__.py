"""Shipped fakes, builders and the simulator's clock and cluster. Must never be imported by production code."""
