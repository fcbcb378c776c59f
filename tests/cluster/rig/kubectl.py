"""kubectl with a kubeconfig: the shortest way for tests to say what they want of an API server."""

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rig.errors import RigError

Manifest = Mapping[str, Any]


class KubectlError(RigError):
    """The API server refused, or could not be reached; the message is kubectl's."""


class Kubectl:
    """Calls with the rights of one kubeconfig, or of ``user`` by impersonation."""

    def __init__(self, program: Path, kubeconfig: Path, user: str | None = None) -> None:
        self._command = (str(program), f"--kubeconfig={kubeconfig}", *((f"--as={user}",) if user else ()))

    def __call__(self, *arguments: str, stdin: str | None = None, longest_s: float = 120) -> str:
        """What ``kubectl ARGUMENTS`` prints. Raises KubectlError when it fails."""
        done = subprocess.run(
            [*self._command, *arguments], input=stdin, capture_output=True, text=True, timeout=longest_s, check=False
        )
        if done.returncode:
            raise KubectlError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def get(self, *arguments: str) -> Any:
        """``kubectl get ARGUMENTS`` as parsed JSON; a list is its items."""
        found = json.loads(self("get", *arguments, "--output=json"))
        return found["items"] if found.get("kind") == "List" else found

    def apply(self, *manifests: Manifest, server_side: bool = True) -> None:
        """Apply the manifests, in this order. Raises KubectlError with all refusals."""
        self("apply", *(("--server-side",) if server_side else ()), "--filename=-", stdin=as_list(manifests))

    def create(self, *manifests: Manifest) -> None:
        """Create the manifests. Raises KubectlError when one is there or refused."""
        self("create", "--filename=-", stdin=as_list(manifests))

    def wait(self, target: str, condition: str, *arguments: str, longest_s: int = 60) -> None:
        """``kubectl wait TARGET --for=CONDITION``. Raises KubectlError when it is late, or TARGET is not there."""
        self("wait", target, f"--for={condition}", f"--timeout={longest_s}s", *arguments, longest_s=longest_s + 10)


def as_list(manifests: Iterable[Manifest]) -> str:
    """Manifests as one document, as kubectl reads it."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)})
