"""The only part of the client that speaks gRPC and protobuf: encodes requests, decodes answers, translates errors.

It must never let a protobuf message or a gRPC error out, retry, or hold a rule of its own.
"""

from fairgate._wire.calls import Wire
from fairgate._wire.encode import JobRequest

__all__ = ["JobRequest", "Wire"]
