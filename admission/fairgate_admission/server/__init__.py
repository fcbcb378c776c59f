"""The webhook that the API server calls: HTTPS, AdmissionReview v1, audit lines, metrics, an orderly end.

It must never let through what it could not read or judge in time, keep anything between two requests, or write to a
cluster. What a request may do is not its matter (``live.judge``).
"""
