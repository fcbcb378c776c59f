"""Owner references as they are written, and who the controller is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text

from fairgate_admission.facts.identities import Owner


@dataclass(frozen=True, slots=True)
class Reference:
    """One owner reference. ``field`` is its path in the object."""

    api_version: str
    kind: str
    name: str
    uid: str
    is_controller: bool
    field: str

    @property
    def owner(self) -> Owner:
        """Group and kind."""
        return self.api_version.rpartition("/")[0], self.kind


def references(manifest: Mapping[str, Any]) -> tuple[Reference, ...]:
    """All owner references of an object; what is no map is left out."""
    items = get_list(get_map(manifest, "metadata"), "ownerReferences")
    return tuple(
        Reference(
            get_text(item, "apiVersion"),
            get_text(item, "kind"),
            get_text(item, "name"),
            get_text(item, "uid"),
            item.get("controller") is True,
            f"metadata.ownerReferences[{index}]",
        )
        for index, item in enumerate(items)
        if isinstance(item, dict)
    )


def controller_of(manifest: Mapping[str, Any]) -> Reference | None:
    """The one controller; ``None`` if there is none, or more than one."""
    found = [each for each in references(manifest) if each.is_controller]
    return found[0] if len(found) == 1 else None
