"""RayJobs that people apply with kubectl as requests: taken as jobs, and shown how their jobs get on.

It must never change what somebody has applied, decide anything, or know more of a job than its service tells.
"""
