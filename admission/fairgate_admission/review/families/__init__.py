"""The rules of the gate, one small module for each family. Each yields denials, and never decides what comes first.

``pod_rules`` looks at one pod or pod template, with the rules of the scheduler's core; the others look at one request.
"""
