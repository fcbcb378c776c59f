"""The wire contract: protobuf messages and gRPC stubs, generated beside their .proto files.

It never holds logic, and never a hand-written line below this package's `__init__` files.
"""
