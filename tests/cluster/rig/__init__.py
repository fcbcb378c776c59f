"""A Kubernetes of our own for tests, without Docker: etcd, API server, Kueue, KubeRay, as processes of this machine.

It builds pinned programs from Go modules, makes two container images, starts and stops each component, and can kill
any of them in the middle. It must never touch another cluster, need anything of Fairgate itself, signal a process
that it did not start, or leave anything behind after ``down``: no process, mount, network namespace or state.
"""
