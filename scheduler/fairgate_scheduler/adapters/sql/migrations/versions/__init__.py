"""One module a step, in the order of their revision numbers. A released step must never change."""
