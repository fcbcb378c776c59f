"""Where the outside comes in: gRPC servicers, the loop, settings, the only wiring, and the server's commands.

It must never hold a rule of its own.
"""
