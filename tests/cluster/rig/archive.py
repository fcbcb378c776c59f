"""Writes a folder as a container image: one layer in a docker-archive, which ``ctr images import`` reads."""

import hashlib
import io
import json
import subprocess
import tarfile
from pathlib import Path
from typing import Final

_PATH: Final = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def write(root: Path, name: str, out: Path, entrypoint: tuple[str, ...] = ()) -> None:
    """Make ``out`` the image ``name`` (``rig/pause:1``) of all below ``root``, with its owners and permissions."""
    layer, half = out.with_suffix(".layer"), out.with_suffix(".half")
    subprocess.run(["tar", "-C", root, "--numeric-owner", "-cf", layer, "."], check=True)
    with layer.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Env": [_PATH], "WorkingDir": "/", "Entrypoint": list(entrypoint)},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    described = json.dumps(config).encode()
    described_name = f"{hashlib.sha256(described).hexdigest()}.json"
    manifest = [{"Config": described_name, "RepoTags": [name], "Layers": ["layer.tar"]}]
    with tarfile.open(half, "w") as tar:
        _add(tar, described_name, described)
        _add(tar, "manifest.json", json.dumps(manifest).encode())
        tar.add(layer, "layer.tar")
    layer.unlink()
    half.rename(out)


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))
