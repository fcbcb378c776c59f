"""The container images of the real node, made without Docker: Ray on Debian, and the one that holds a pod open."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from rig import archive
from rig.build import build
from rig.errors import RigError
from rig.paths import images, lock, say

RAY_VERSION: Final = "2.60.0"
RAY: Final = f"docker.io/rig/ray:{RAY_VERSION}"
PAUSE: Final = "docker.io/rig/pause:1"
_DEBIAN: Final = "deb http://deb.debian.org/debian bookworm main"
_PYTHON: Final = "3.11"  # Debian bookworm's
_PACKAGES: Final = "python3,python3-pip,procps,ca-certificates,wget,iproute2"


def image_files() -> list[Path]:
    """The archives of all images, after making those that are missing. About a minute and 700 MB; then cached.

    Needs root, ``mmdebstrap`` and the Debian and Python package registries. Raises RigError when it can not.
    """
    recipe = f"{_DEBIAN} {_PACKAGES} {_PYTHON} {RAY} {PAUSE}"
    folder = images() / hashlib.sha256(recipe.encode()).hexdigest()[:12]
    files = [folder / "pause.tar", folder / "ray.tar"]
    if not all(file.exists() for file in files):
        with lock("images", "somebody else is making the images; waiting"):
            for stale in images().glob("*"):
                if stale != folder:
                    shutil.rmtree(stale)
            folder.mkdir(parents=True, exist_ok=True)
            for file, make in zip(files, (_pause, _ray), strict=True):
                if not file.exists():
                    with tempfile.TemporaryDirectory(prefix="image-", dir=folder) as work:
                        make(Path(work), file)
    return files


def _pause(work: Path, out: Path) -> None:
    root = work / "root"
    root.mkdir()
    shutil.copy(build("pause")["pause"], root / "pause")
    archive.write(root, PAUSE.removeprefix("docker.io/"), out, ("/pause",))


def _ray(work: Path, out: Path) -> None:
    say(f"making the image {RAY} (about a minute) ...")
    began_s = time.monotonic()
    root, base = work / "root", work / "base.tar"
    root.mkdir()
    _run(
        "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", f"--include={_PACKAGES}", "bookworm", base, _DEBIAN
    )
    _run("tar", "-C", root, "-xf", base)
    base.unlink()
    site = root / "usr" / "local" / "lib" / f"python{_PYTHON}" / "dist-packages"
    target = ("--python-platform", "linux", "--python-version", _PYTHON, "--target", site)
    _run(sys.executable, "-m", "uv", "pip", "install", "--quiet", *target, f"ray[default]=={RAY_VERSION}")
    program = root / "usr" / "local" / "bin" / "ray"
    # Its first line names the interpreter of this machine.
    program.write_text("#!/usr/bin/python3\n" + (site / "bin" / "ray").read_text().split("\n", 1)[1])
    program.chmod(0o755)
    (root / "usr" / "local" / "bin" / "python").symlink_to("/usr/bin/python3")
    archive.write(root, RAY.removeprefix("docker.io/"), out)
    say(f"made {RAY} in {time.monotonic() - began_s:.0f} s ({out.stat().st_size >> 20} MB)")


def _run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        end = "\n".join(done.stderr.splitlines()[-15:])
        raise RigError(f"{Path(command[0]).name} failed while an image was made:\n{end}")
