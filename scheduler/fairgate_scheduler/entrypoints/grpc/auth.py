"""The ``Principal`` seam: who calls. Every call but health passes through one ``Authenticator``.

The local mode trusts whoever can read the server's token file, which is the user that runs it.
"""

import contextlib
import hmac
import os
import secrets
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import grpc

from fairgate_scheduler.entrypoints.grpc.errors import Unauthenticated

_PRINCIPAL: Final = "fairgate_principal"
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls, and what they are to Fairgate."""

    name: str
    roles: frozenset[str] = frozenset()


class Authenticator(Protocol):
    """Tells who calls from what the call carries."""

    def authenticate(self, metadata: Iterable[tuple[str, str | bytes]]) -> Principal:
        """The caller. Raises Unauthenticated."""


class TokenFileError(Exception):
    """The token file can not be trusted; the message says why and what to do. The server must not start."""


@dataclass(frozen=True)
class TokenAuthenticator:
    """Takes one bearer token, for one principal: the local mode."""

    token: str
    principal: Principal = Principal("local", frozenset({"admin"}))

    def authenticate(self, metadata: Iterable[tuple[str, str | bytes]]) -> Principal:
        """The local principal, if the call carries its token. Raises Unauthenticated."""
        remedy = (
            "send what the server's token file holds, as the metadata `authorization: Bearer TOKEN`; clients take it "
            "from $FAIRGATE_TOKEN, else from the file $FAIRGATE_TOKEN_FILE, else from the local state directory"
        )
        given = next((value for key, value in metadata if key == "authorization"), None)
        if given is None:
            raise Unauthenticated("the call carries no token", remedy=remedy)
        scheme, _, token = (given if isinstance(given, str) else given.decode("latin-1")).partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), self.token.encode()):
            raise Unauthenticated("the token is not the server's", remedy=remedy)
        return self.principal


def remember(context: grpc.ServicerContext, principal: Principal) -> None:
    """Keep who calls with the call."""
    setattr(context, _PRINCIPAL, principal)


def principal_of(context: grpc.ServicerContext) -> Principal:
    """Who calls. Only calls that passed the seam get this far."""
    principal = getattr(context, _PRINCIPAL, None)
    assert isinstance(principal, Principal), "a call came past the Principal seam"
    return principal


def load_token(file: Path) -> str:
    """The token of a private file, which is made if it is not there.

    Raises:
        TokenFileError: others could read or replace it, it is not a plain file of ours, or it is empty.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not file.is_symlink() and not file.exists():
        with contextlib.suppress(FileExistsError):
            _create(file)
    descriptor = _open(file)
    with os.fdopen(descriptor, encoding="utf-8") as stream:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise TokenFileError(f"{file} is not a plain file; remove it, the server makes a new one")
        if found.st_uid != os.geteuid():
            raise TokenFileError(f"{file} belongs to another user; remove it, the server makes a new one")
        if found.st_mode & _OTHERS:
            mode = stat.S_IMODE(found.st_mode)
            raise TokenFileError(
                f"{file} has mode {mode:04o}: others can read the token. Remove it (the server makes a new one), "
                f"or run `chmod 600 {file}` if nobody did"
            )
        token = stream.read().strip()
    if len(token) < 16 or not token.isascii():
        raise TokenFileError(f"{file} holds no token; remove it, the server makes a new one")
    return token


def _create(file: Path) -> None:
    """Write a new token beside and link it into place, so that nobody ever reads half of one."""
    fresh = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(secrets.token_urlsafe(32) + "\n")
        file.hardlink_to(fresh)
    finally:
        fresh.unlink()


def _open(file: Path) -> int:
    try:
        return os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise TokenFileError(f"{file} can not be opened as a plain file: {error.strerror}") from error
