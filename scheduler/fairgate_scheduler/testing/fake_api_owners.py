"""Who owns which fields of one object, and what an apply or an update makes of that."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fairgate_scheduler.adapters.kube.api import ConflictError
from fairgate_scheduler.testing.fake_api_fields import Path, as_managed_fields, leaves, merge, without

_FIRST: Final = "before-first-apply"
"""Who owns what is in an object that nobody owns a field of, once somebody applies something to it."""

APPLY: Final = "Apply"
UPDATE: Final = "Update"


@dataclass(frozen=True, order=True, slots=True)
class Manager:
    """Who writes: the same name that applies and that updates are two, as are those of two subresources."""

    name: str
    operation: str
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Owners:
    """The owned paths of one object, by manager."""

    kind: str
    paths: Mapping[Manager, frozenset[Path]] = field(default_factory=dict)

    def after_update(self, manager: Manager, before: Mapping[str, Any], after: Mapping[str, Any]) -> "Owners":
        """Whoever changes a field owns it, alone. Where nobody owns anything, nobody begins to, but by creating it."""
        if before and not self.paths:
            return self
        old, new = leaves(self.kind, before), leaves(self.kind, after)
        changed = {path for path, value in new.items() if path not in old or old[path] != value}
        left = {who: frozenset(each for each in paths if each in new) - changed for who, paths in self.paths.items()}
        left[manager] = left.get(manager, frozenset()) | changed
        return Owners(self.kind, {who: paths for who, paths in left.items() if paths})

    def apply(
        self, manager: str, live: Mapping[str, Any], applied: Mapping[str, Any], force: bool
    ) -> tuple[dict[str, Any], "Owners"]:
        """The object after an apply, and its owners. Raises ConflictError: others own what would change."""
        who = Manager(manager, APPLY)
        wanted, found = leaves(self.kind, applied), leaves(self.kind, live)
        changed = {path for path, value in wanted.items() if path in found and found[path] != value}
        others = {each: paths for each, paths in self.paths.items() if each != who}
        if found and not self.paths:
            others = {Manager(_FIRST, UPDATE): frozenset(found)}
        conflicts = sorted((path, each) for each, paths in others.items() for path in paths & changed)
        if conflicts and not force:
            raise ConflictError(_text_of(conflicts), "Conflict")
        others = {each: paths - changed for each, paths in others.items()}
        merged: dict[str, Any] = merge(self.kind, dict(live), dict(applied))
        dropped = self.paths.get(who, frozenset()) - frozenset(wanted)
        merged = _pruned(merged, dropped, frozenset().union(*others.values()))
        there = leaves(self.kind, merged)
        kept = {each: frozenset(path for path in paths if path in there) for each, paths in others.items()}
        kept[who] = frozenset(wanted)
        return merged, Owners(self.kind, {each: paths for each, paths in kept.items() if paths})

    def as_managed_fields(self, api_version: str) -> list[dict[str, Any]]:
        """As ``metadata.managedFields``, without times."""
        return [
            {
                "manager": who.name,
                "operation": who.operation,
                "apiVersion": api_version,
                "fieldsType": "FieldsV1",
                "fieldsV1": as_managed_fields(paths),
                **({"subresource": who.subresource} if who.subresource else {}),
            }
            for who, paths in sorted(self.paths.items())
        ]


def _pruned(manifest: dict[str, Any], dropped: frozenset[Path], owned: frozenset[Path]) -> dict[str, Any]:
    """Without what one manager no longer applies and no other owns. An item goes with all that is in it, also what
    others own there, if none of them owns the item itself.
    """
    for path in sorted(dropped - owned, key=len):
        is_map_of_others = path[-1].startswith("f:") and any(each[: len(path)] == path for each in owned)
        if not is_map_of_others:
            manifest = without(manifest, path)
    return manifest


def _text_of(conflicts: list[tuple[Path, Manager]]) -> str:
    lines = [f'conflict with "{who.name}": {_dotted(path)}' for path, who in conflicts]
    return f"Apply failed with {len(lines)} conflict{'s' * (len(lines) > 1)}: {'; '.join(lines)}"


def _dotted(path: Path) -> str:
    return "".join(f".{part[2:]}" if part.startswith("f:") else f"[{part[2:]}]" for part in path)
