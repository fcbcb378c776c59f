"""A whole service in memory: its store, a runner on virtual time, a clock that tests move. It listens nowhere."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fairgate_scheduler.ports import Launch
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.cycle import Scheduler
from fairgate_scheduler.service.quota import apply_config
from fairgate_scheduler.testing.fake_runner import FakeRunner, Script
from fairgate_scheduler.testing.memory_store import MemoryStore
from fairgate_scheduler.testing.sim_clock import SimClock


@dataclass
class SocketSettings:
    """Where a server of a test listens: a socket and a token in a folder, whose path must be short."""

    folder: Path
    reflection: bool = True
    address: str = field(init=False)
    token_file: Path = field(init=False)

    def __post_init__(self) -> None:
        self.address = f"unix:{self.folder}/fairgate.sock"
        self.token_file = self.folder / "token"


class FakeService:
    """One service. ``config``: what is in force from the begin, "" for none. ``script``: how attempts behave."""

    def __init__(self, config: str = "", script: Callable[[Launch], Script] | None = None) -> None:
        self.clock = SimClock()
        self.runner = FakeRunner(self.clock) if script is None else FakeRunner(self.clock, script)
        self.app = App(MemoryStore(), self.runner, self.clock)
        self.scheduler = Scheduler(self.app)
        if config:
            apply_config(self.app, config, by="admin")

    def turn(self, after_ms: int = 0) -> None:
        """Let some time pass, then do all that the scheduler does."""
        self.clock.advance(after_ms)
        self.scheduler.turn()
