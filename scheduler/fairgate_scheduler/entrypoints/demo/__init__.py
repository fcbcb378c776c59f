"""``fairgate demo``: the tutorial's jobs on a real server with real Ray, shown live, and checked against its promises.

It must never reach into the server: it uses the Python client as any team service would.
"""
