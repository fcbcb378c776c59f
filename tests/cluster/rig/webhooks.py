"""Lets an API server call webhooks that run as processes of this machine instead of pods behind a Service."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def call_directly(manifest: dict[str, Any], address: str, authority: Path) -> dict[str, Any]:
    """The manifest itself; what calls a Service in it now calls ``https://ADDRESS`` with the same path.

    ``authority`` is the certificate to trust. A Service would do only with a non-loopback address behind it.
    """
    for client in _clients(manifest):
        path = client.pop("service").get("path", "/")
        client["url"] = f"https://{address}{path}"
        client["caBundle"] = base64.b64encode(authority.read_bytes()).decode()
    return manifest


def _clients(manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if manifest["kind"] in _CONFIGURATIONS:
        for webhook in manifest["webhooks"]:
            yield webhook["clientConfig"]
    conversion = manifest.get("spec", {}).get("conversion") if manifest["kind"] == "CustomResourceDefinition" else None
    if conversion and conversion["strategy"] == "Webhook":
        yield conversion["webhook"]["clientConfig"]
