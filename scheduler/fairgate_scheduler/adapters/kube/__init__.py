"""The Kubernetes adapter: tenants, flavors and quotas as Kueue's objects, attempts as RayJobs that KubeRay runs.

``api`` talks to an API server, ``schema`` knows the RayJob's structure, ``mapping`` turns a configuration into objects
and keeps them so, ``attempts`` makes the RayJob of an attempt, ``watching`` sees what becomes of it, ``runner`` is the
port. It must never decide who runs, touch an object that is not ours, or keep in memory alone what a crash may not
lose.
"""
