"""Runs inside ``ray start`` (named by RAY_START_HOOK) and leaves out what no attempt needs."""

from typing import Any


def trim(parameters: Any, _is_head: bool) -> None:
    """Start no Ray Client server: nobody connects to it, it takes 90 MB, and several heads fight for its port."""
    parameters.ray_client_server_port = None
