"""Reading YAML documents strictly: positions of every node, unknown keys refused, typed readers for config files.

It must never touch a file or apply anything: text comes in, values or a list of problems with lines come out.
"""
