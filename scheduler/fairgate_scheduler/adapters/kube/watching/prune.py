"""What a mirror keeps of an object: thousands of pods are held in memory, of which little is ever looked at."""

from collections.abc import Callable, Mapping
from typing import Any

from fairgate_scheduler.adapters.kube.api import Manifest

Prune = Callable[[Manifest], Manifest]


def without_managed_fields(manifest: Manifest) -> Manifest:
    """All but the list of who wrote what, which is often longer than the rest."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name != "managedFields"}
    return {**manifest, "metadata": metadata}


def keeping(*paths: str) -> Prune:
    """Keeps these fields, each a dotted path (``spec.nodeName``), besides kind and metadata."""
    parts = [tuple(path.split(".")) for path in paths]

    def prune(manifest: Manifest) -> Manifest:
        whole = without_managed_fields(manifest)
        kept = {name: whole[name] for name in ("apiVersion", "kind", "metadata") if name in whole}
        for path in parts:
            _copy(manifest, kept, path)
        return kept

    return prune


def _copy(source: Mapping[str, Any], target: dict[str, Any], path: tuple[str, ...]) -> None:
    name, *rest = path
    if name not in source:
        return
    if not rest or not isinstance(source[name], Mapping):
        target[name] = source[name]
    else:
        _copy(source[name], target.setdefault(name, {}), tuple(rest))
