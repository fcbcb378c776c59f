"""Where the service is and which token it wants: arguments, else the environment, else the local state folder."""

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fairgate._errors import InvalidArgument, Unauthenticated, Unavailable, Violation

ADDRESS: Final = "FAIRGATE_ADDRESS"
TOKEN: Final = "FAIRGATE_TOKEN"
TOKEN_FILE: Final = "FAIRGATE_TOKEN_FILE"
CA_FILE: Final = "FAIRGATE_CA_FILE"
STATE_DIR: Final = "FAIRGATE_STATE_DIR"
TENANT: Final = "FAIRGATE_TENANT"

SOCKET_PATH_MAX: Final = 107
"""The longest path of a Unix socket in bytes, on Linux."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to connect: ``target`` as gRPC wants it. ``ca_file``: the roots to trust, ``None`` for the system's."""

    target: str
    is_tls: bool
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token, given as such or in a file that is read anew for each call, so that it can be renewed.

    The local service makes its file when it starts: while there is none, there is no service yet.
    """

    text: str = ""
    file: Path | None = None

    def read(self) -> str:
        """The token. Raises Unauthenticated if the file can not be read, Unavailable if it is not there."""
        if self.file is None:
            return self.text
        try:
            return self.file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            remedy = f"start the service with `fairgate up`, or name another one with {ADDRESS} and {TOKEN_FILE}"
            if isinstance(error, FileNotFoundError):
                message = f"no service has been started here: there is no token file {self.file}"
                raise Unavailable([Violation("", message, remedy)]) from None
            why = error.strerror if isinstance(error, OSError) else "it is not text"
            raise Unauthenticated([Violation("", f"no token in {self.file}: {why}", remedy)]) from None


def state_folder(environment: Mapping[str, str] | None = None) -> Path:
    """The folder of the local service: ``$FAIRGATE_STATE_DIR``, else ``~/.fairgate``."""
    given = (os.environ if environment is None else environment).get(STATE_DIR)
    return Path(given).expanduser() if given else Path.home() / ".fairgate"


def find_endpoint(
    address: str | None, ca_file: str | Path | None = None, environment: Mapping[str, str] | None = None
) -> Endpoint:
    """Where to connect.

    ``unix:PATH`` and loopback addresses are spoken to in plain text, others over TLS; ``http://HOST:PORT`` and
    ``https://HOST:PORT`` say it. Raises InvalidArgument for what is no address.
    """
    env = os.environ if environment is None else environment
    given = address or env.get(ADDRESS) or f"unix:{state_folder(env) / 'fairgate.sock'}"
    roots = ca_file or env.get(CA_FILE)
    roots = Path(roots) if roots else None
    scheme, _, rest = given.partition("://") if "://" in given else ("", "", given)
    if scheme == "unix" or given.startswith("unix:"):
        return Endpoint(f"unix:{_socket(given.removeprefix('unix:'))}", is_tls=False)
    if scheme not in ("", "http", "https"):
        raise _no_address(given, f"{scheme} is not spoken here")
    host, port = _host_and_port(rest.rstrip("/"), given)
    is_tls = scheme == "https" or (not scheme and not _is_loopback(host))
    return Endpoint(f"{host}:{port}", is_tls, roots)


def find_token(token: str | None, token_file: str | Path | None, environment: Mapping[str, str] | None = None) -> Token:
    """Which token to send: an argument, else the environment, else the token file of the local state folder."""
    env = os.environ if environment is None else environment
    if token:
        return Token(token)
    if token_file:
        return Token(file=Path(token_file))
    if env.get(TOKEN):
        return Token(env[TOKEN])
    return Token(file=Path(env[TOKEN_FILE]) if env.get(TOKEN_FILE) else state_folder(env) / "token")


def _socket(path: str) -> str:
    path = "/" + path.lstrip("/") if path.startswith("//") else path
    if len(os.fsencode(path)) > SOCKET_PATH_MAX:
        message = f"the path {path} is longer than the {SOCKET_PATH_MAX} bytes that a Unix socket's may have"
        raise InvalidArgument([Violation("address", message, f"choose a shorter folder with {STATE_DIR}")])
    return path


def _host_and_port(text: str, given: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host:
        raise _no_address(given, "it has no port")
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise _no_address(given, f"{port!r} is not a port")
    if "/" in host or (":" in host and not (host.startswith("[") and host.endswith("]"))):
        raise _no_address(given, f"{host!r} is not a host")
    return host, int(port)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _no_address(given: str, why: str) -> InvalidArgument:
    remedy = "write unix:/path/to/fairgate.sock, HOST:PORT or https://HOST:PORT"
    return InvalidArgument([Violation("address", f"{given!r} is not an address: {why}", remedy)])
