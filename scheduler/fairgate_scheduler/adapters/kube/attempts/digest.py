"""A digest of what an attempt's RayJob says, to see when somebody else has changed it."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

_OTHERS: Final = ("suspend", "managedBy")
"""Fields of the spec that Kueue writes."""


def digest_of(manifest: Mapping[str, Any]) -> str:
    """Of the spec as we wrote it, without what Kueue writes. Node selectors are in it: we set those of the flavor."""
    spec = {key: value for key, value in manifest["spec"].items() if key not in _OTHERS}
    text = json.dumps(spec, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
