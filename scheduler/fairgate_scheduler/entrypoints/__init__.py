"""Where the outside comes in: gRPC servicers, the loop, settings and the only wiring. Must never hold a rule of its own."""
