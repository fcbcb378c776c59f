"""The command line: words in, calls of the client, tables and exit codes out.

It must never speak gRPC, import the server, or print anything but what was asked for on standard output: progress,
warnings and errors go to standard error.
"""
