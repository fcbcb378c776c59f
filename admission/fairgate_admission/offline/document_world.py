"""The world of an attack file: its objects are what a cluster would have, and some of them can not be read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fairgate_scheduler.core.manifests.plain import Plain, get_map, get_text
from fairgate_scheduler.core.tenancy import Config

from fairgate_admission.facts.owners import controller_of
from fairgate_admission.facts.world import LookupFailedError, Reservation, Settings
from fairgate_admission.offline.cases import Setting

_CLUSTER_WIDE: Final = ("Namespace", "Node", "PriorityClass", "RuntimeClass", "DeviceClass")


@dataclass(frozen=True)
class DocumentWorld:
    """``facts.world.World`` over plain data."""

    setting: Setting

    @property
    def settings(self) -> Settings:
        """Those of the file, else the defaults."""
        return self.setting.settings

    @property
    def config(self) -> Config | None:
        """None: a file names no flavors, so requests are checked in themselves."""
        return None

    def tenant_of(self, namespace: str) -> str | None:
        """The tenant whose namespace this is."""
        return self.setting.tenants.get(namespace)

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Plain | None:
        """The object of this kind and name; of any version of its API group."""
        self._may_fail(kind, namespace, name)
        where = "" if kind in _CLUSTER_WIDE else namespace
        return next((each for each in self._all(api_version, kind, where) if _metadata(each, "name") == name), None)

    def owned(self, api_version: str, kind: str, namespace: str, owner_uid: str) -> Sequence[Plain]:
        """The objects of this kind whose controller has this uid."""
        self._may_fail(kind, namespace, "")
        return [
            each
            for each in self._all(api_version, kind, namespace)
            if owner_uid and (owner := controller_of(each)) is not None and owner.uid == owner_uid
        ]

    def reservation(self, uid: str, namespace: str, rayjob: str) -> Reservation | None:
        """The reservation of this uid."""
        return next((each for each in self.setting.admitted if uid and each.uid == uid), None)

    def reservation_named(self, tenant: str, rayjob: str) -> Reservation | None:
        """The reservation of this tenant and name."""
        wanted = (tenant, rayjob)
        return next((each for each in self.setting.admitted if (each.tenant, each.rayjob) == wanted), None)

    def _all(self, api_version: str, kind: str, namespace: str) -> list[Plain]:
        group = api_version.rpartition("/")[0]
        return [
            each
            for each in self.setting.objects
            if (get_text(each, "apiVersion").rpartition("/")[0], get_text(each, "kind")) == (group, kind)
            and _metadata(each, "namespace") == namespace
        ]

    def _may_fail(self, kind: str, namespace: str, name: str) -> None:
        """A look-up error is written ``plural/name``, ``plural/namespace`` or ``plural/namespace/name``."""
        for error in self.setting.lookup_errors:
            plural, _, rest = error.partition("/")
            if plural.lower().rstrip("s").removesuffix("e") != kind.lower().rstrip("s").removesuffix("e"):
                continue
            if rest in ("", namespace, name, f"{namespace}/{name}") or (not name and rest.startswith(f"{namespace}/")):
                raise LookupFailedError(f"{kind} {name or namespace}")


def _metadata(manifest: Plain, key: str) -> str:
    return get_text(get_map(manifest, "metadata"), key)
