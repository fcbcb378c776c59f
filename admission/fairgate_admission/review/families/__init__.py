"""The rules of the gate, one small module for each family. Each yields denials, and never decides what comes first.

``channels``, ``placement`` and ``security`` look at one pod or pod template; the others at one request.
"""
