"""Random stories for the simulator: who submits what and when, what is changed under way, and what goes wrong.

Everything comes from one seed, so that a story that fails can be told again.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from fairgate_scheduler.core.amounts import Row
from fairgate_scheduler.core.tenancy import Config, Flavor, Policy, Quota, QuotaCut, Tenant
from fairgate_scheduler.testing.builders import GPU
from fairgate_scheduler.testing.fake_runner import Script
from fairgate_scheduler.testing.faults import Unreliability

H100: Final[Row] = ("h100", GPU)
A100: Final[Row] = ("a100", GPU)
NEVER_MS: Final = 10**12
_FLAVORS: Final = ("h100", "a100")


@dataclass(frozen=True, slots=True)
class Submit:
    """One job. ``flavors``: its options, in order. Instants and durations in milliseconds from the begin."""

    at_ms: int
    tenant: str
    name: str
    gpus: int
    workers: int
    flavors: tuple[str, ...]
    script: Script
    priority: int = 0
    preemptible: bool = True
    fallback_after_ms: int = 0
    time_limit_ms: int = 3_600_000
    unready_attempts: int = 0
    """So many of its attempts, the first ones, never get ready by themselves."""

    @property
    def job(self) -> str:
        """Its resource name."""
        return f"tenants/{self.tenant}/jobs/{self.name}"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that befalls a job. ``kind``: cancel, priority, time_limit, kill (from outside), vanish (a reboot)."""

    at_ms: int
    kind: str
    job: str
    value: int = 0


@dataclass(frozen=True)
class Story:
    """All that happens. ``configs``: what is applied when; the first one from the begin. ``crash_every``: about how
    many calls lie between two crashes, 0 for none."""

    seed: int
    configs: tuple[tuple[int, Config], ...]
    submits: tuple[Submit, ...]
    troubles: tuple[Trouble, ...] = ()
    unreliability: Unreliability = field(default_factory=Unreliability)
    crash_every: int = 0

    def script_of(self, job: str, attempt: int) -> Script:
        """How an attempt behaves."""
        submit = self._submits[job]
        return replace(submit.script, start_ms=NEVER_MS) if attempt <= submit.unready_attempts else submit.script

    @cached_property
    def _submits(self) -> Mapping[str, Submit]:
        return {each.job: each for each in self.submits}


def make_story(seed: int) -> Story:
    """The story of a seed. Every job can run, and ends if it is let."""
    chance = random.Random(seed)
    config = _config(chance)
    leaves = [tenant for tenant in config.tenants if config.is_leaf(tenant)]
    submits = tuple(_submit(chance, number, leaves) for number in range(chance.randint(8, 20)))
    configs = [(0, config)]
    if chance.random() < 0.3:
        configs.append((chance.randrange(20_000, 300_000), _changed(chance, config)))
    return Story(
        seed,
        tuple(configs),
        submits,
        _troubles(chance, submits),
        Unreliability(*(chance.choice((0, 0, 5, 20)) for _ in range(5))),
        chance.choice((0, 10, 25, 60)),
    )


def _config(chance: random.Random) -> Config:
    policy = Policy(
        reclaim=chance.random() < 0.9,
        rebalance=chance.random() < 0.3,
        priority_preemption=chance.random() < 0.8,
        min_runtime_ms=chance.choice((0, 0, 30_000)),
        quota_cut=chance.choice((QuotaCut.DRAIN, QuotaCut.RECLAIM)),
        ready_timeout_ms=chance.choice((40_000, 120_000)),
        option_backoff_ms=chance.choice((0, 30_000)),
    )
    flavors = {name: Flavor(name, resource=GPU) for name in _FLAVORS}
    flavors["cpu"] = Flavor("cpu", default_for_cpu_pods=True)
    tenants = [Tenant("org")]
    for name in ("a", "b", "c")[: chance.choice((2, 2, 3))]:
        quota = {H100: Quota(chance.randint(0, 2)), A100: Quota(chance.randint(0, 1))}
        tenants.append(Tenant(name, parent="org", quota=quota))
    tenants[0] = replace(tenants[0], quota={H100: Quota(2), A100: Quota(2)})  # every job fits, whatever is cut
    return Config(flavors, {each.id: each for each in tenants}, policy)


def _changed(chance: random.Random, config: Config) -> Config:
    leaf = chance.choice([tenant for tenant in config.tenants.values() if tenant.parent])
    quota = {row: replace(each, nominal=chance.randint(0, 2)) for row, each in leaf.quota.items()}
    return replace(config, tenants={**config.tenants, leaf.id: replace(leaf, quota=quota)})


def _submit(chance: random.Random, number: int, leaves: list[str]) -> Submit:
    script = Script(
        start_ms=chance.choice((0, 500, 1_000, 20_000)),
        run_ms=chance.choice((0, 1_000, 20_000, 60_000, 60_000, 200_000)),
        exit_code=3 if chance.random() < 0.1 else 0,
        stop_ms=chance.choice((0, 0, 2_000, 60_000)),
    )
    gpus, workers = chance.choice(((1, 1), (1, 1), (1, 2), (2, 1)))
    return Submit(
        at_ms=chance.choice((0, chance.randrange(1, 60_000), chance.randrange(1, 200_000))),
        tenant=chance.choice(leaves),
        name=f"j{number}",
        gpus=gpus,
        workers=workers,
        flavors=chance.choice((("h100",), ("h100",), ("h100", "a100"), ("a100", "h100"))),
        script=script,
        priority=chance.choice((0, 0, 10)),
        preemptible=chance.random() < 0.8,
        fallback_after_ms=chance.choice((0, 0, 20_000)),
        time_limit_ms=30_000 if chance.random() < 0.1 else 3_600_000,
        unready_attempts=chance.choice((1, 2)) if chance.random() < 0.1 else 0,
    )


def _troubles(chance: random.Random, submits: tuple[Submit, ...]) -> tuple[Trouble, ...]:
    troubles = []
    for _ in range(chance.choice((0, 2, 6))):
        victim = chance.choice(submits)
        kind = chance.choice(("cancel", "priority", "time_limit", "kill", "kill", "vanish", "vanish"))
        value = {"priority": chance.choice((-5, 20)), "time_limit": chance.choice((20_000, 600_000))}.get(kind, 0)
        troubles.append(Trouble(victim.at_ms + chance.randrange(100_000), kind, victim.job, value))
    return tuple(troubles)
