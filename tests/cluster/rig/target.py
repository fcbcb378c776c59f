"""The cluster that a test runs against: the rig's own, or one that a person has."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from rig.build import build
from rig.cluster import Rig
from rig.identities import USERS
from rig.image import RAY, RAY_VERSION
from rig.kubectl import Kubectl

_PUBLIC_RAY: Final = f"rayproject/ray:{RAY_VERSION}"


@dataclass(frozen=True)
class Target:
    """A cluster with Kueue and KubeRay. ``rig`` is None when it is a person's, whose components no test may stop."""

    kubeconfig: Path
    rig: Rig | None = None

    @property
    def ray_image(self) -> str:
        """The image of Ray to run there."""
        return RAY if self.rig else _PUBLIC_RAY

    def kubectl(self, user: str | None = None) -> Kubectl:
        """kubectl as the admin, or as one of ``identities.USERS``, who may do what a test binds to them."""
        if user is not None and user not in USERS:
            raise AssertionError(f"no such user: {user}")
        if self.rig:
            return self.rig.kubectl(user or "admin")
        found = shutil.which("kubectl")
        return Kubectl(Path(found) if found else build("kubectl")["kubectl"], self.kubeconfig, user)

    def own(self) -> Rig:
        """The rig, for tests that stop components; they are skipped on a person's cluster."""
        if self.rig is None:
            pytest.skip("stops components, so it runs only on the rig's own cluster; unset KUBECONFIG")
        return self.rig
