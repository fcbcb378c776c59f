"""The demo's own server: a real ``fairgate up`` in a folder of its own, stopped and removed at the end."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import fairgate

_START_S: Final = 60
_STOP_S: Final = 60


class DemoError(Exception):
    """The demo could not be run; the message says what to do."""


@contextmanager
def serve(tutorial: Path) -> Iterator[fairgate.Client]:
    """A client of a fresh server that knows the tutorial's configuration. Its folder is kept if the block raises."""
    state = Path(tempfile.mkdtemp(prefix="fairgate-"))
    log = state / "server.log"
    command = [sys.executable, "-m", "fairgate", "up", "--state-dir", str(state), "--grace-period", "5s"]
    command += ["--job-dir", str(tutorial), "--config", str(tutorial / "fairgate.yaml")]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, env=_environment()
        )
    try:
        client = fairgate.Client(f"unix:{state / 'fairgate.sock'}", token_file=state / "token", timeout_s=_START_S)
        with client:
            _await(client, process, log)
            yield client
    except BaseException:
        _stop(process)
        sys.stderr.write(f"the demo's files are kept in {state}\n")
        raise
    _stop(process)
    shutil.rmtree(state)


def _environment() -> dict[str, str]:
    """Without what would point the server, or the demo's client, to another service."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("FAIRGATE_", "RAY_"))}


def _await(client: fairgate.Client, process: "subprocess.Popen[bytes]", log: Path) -> None:
    try:
        client.get_config()
    except fairgate.FairgateError as error:
        said = log.read_text(errors="replace").strip()
        ended = f"it ended with code {process.poll()}" if process.poll() is not None else "it does not answer"
        raise DemoError(f"the server did not start ({ended}): {error}\n{said}") from error


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
