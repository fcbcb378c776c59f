"""One request to the Kubernetes API, judged: a pure function of the request and of the world that it is made in.

It must never do I/O, read a clock, or name another tenant in what it says. What lives in a cluster comes through
``facts.world.World``; a look-up that fails is a refusal.
"""

from fairgate_admission.review.reviewing import backstop, review, review_fields

__all__ = ["backstop", "review", "review_fields"]
