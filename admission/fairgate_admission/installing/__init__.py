"""What an installation of the gate is made of, and whether one in a cluster is as it should be.

It must never write to a cluster: whoever installs applies what is rendered here.
"""
