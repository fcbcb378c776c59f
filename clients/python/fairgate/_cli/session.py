"""What all commands share: where the service is, the client, and where to print."""

import sys
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import typer
from rich.console import Console

from fairgate._client import Client

PATIENCE_S = 3.0
"""How long a command tries to reach a service that is not there; once it was there, waiting commands try longer."""


class OutputFormat(StrEnum):
    """How a command prints what it found."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


@dataclass
class Session:
    """The root options, and what is made of them when a command needs it."""

    address: str | None = None
    token_file: str | None = None
    timeout_s: float = 30.0
    is_debug: bool = False
    out: Console = field(default_factory=lambda: _console(False))
    err: Console = field(default_factory=lambda: _console(True))

    @cached_property
    def client(self) -> Client:
        """The connection to the service, made when it is first used."""
        return Client(self.address, token_file=self.token_file, timeout_s=self.timeout_s, patience_s=PATIENCE_S)

    def close(self) -> None:
        """Close the connection if there is one."""
        if "client" in self.__dict__:
            self.client.close()

    def say(self, text: str) -> None:
        """A line for people, on standard error."""
        self.err.print(text, markup=False, highlight=False, soft_wrap=True)


def session_of(context: typer.Context) -> Session:
    """The session of a running command."""
    session = context.find_root().obj
    assert isinstance(session, Session), session
    return session


def _console(is_error: bool) -> Console:
    stream = sys.stderr if is_error else sys.stdout
    return Console(stderr=is_error, highlight=False, emoji=False, soft_wrap=True, force_interactive=stream.isatty())
