"""Reading a scenario file: every problem with its line, unknown names included."""

from fractions import Fraction
from typing import Final

from fairgate_scheduler.core.config_checks import check_config
from fairgate_scheduler.core.tenancy import Config, Flavor, Policy, Tenant
from fairgate_scheduler.documents.fields import Fields, each_entry, itself, locate
from fairgate_scheduler.documents.nodes import Node, parse_document
from fairgate_scheduler.documents.problems import DocumentError, Problem, suggest
from fairgate_scheduler.documents.scalars import read_fraction, read_text, wrong
from fairgate_scheduler.documents.tenancy_fields import (
    LIMIT_KEYS,
    read_budget,
    read_capacity,
    read_limits,
    read_policy,
    read_quota,
)
from fairgate_scheduler.scenario.event_fields import read_events
from fairgate_scheduler.scenario.expectation_fields import read_expectations
from fairgate_scheduler.scenario.job_fields import read_jobs
from fairgate_scheduler.scenario.names import Names
from fairgate_scheduler.scenario.story import Story

SECTIONS: Final = ("version", "name", "policy", "flavors", "tenants", "jobs", "events", "expect")
TENANT_KEYS: Final = ("weight", "quota", "budget", *LIMIT_KEYS)


def read_story(text: str, name: str) -> Story:
    """The story of one file.

    Raises:
        DocumentError: anything in it is wrong; it lists every problem.
    """
    root = parse_document(text, name)
    problems: list[Problem] = []
    fields = Fields(root, problems, SECTIONS, ("version", "flavors", "tenants"))
    fields.read("version", _read_version, None)
    title = fields.read("name", read_text, name)
    config = _read_config(fields, problems)
    known = Names(
        flavors=tuple(config.flavors),
        tenants=(*config.tenants, *_tenants_to_come(fields)),
    )
    jobs = read_jobs(fields["jobs"], known, problems) if fields.has("jobs") else {}
    known = known.with_jobs(jobs)
    events = read_events(fields["events"], known, problems) if fields.has("events") else ()
    known = known.with_events(len(events))
    expectations = read_expectations(fields["expect"], known, problems) if fields.has("expect") else ()
    if problems:
        raise DocumentError(problems)
    return Story(title, name, config, jobs, events, expectations)


def _read_version(node: Node) -> int:
    if read_text(node) != "1":
        raise wrong(node, f"version {node.text!r} is not known", "write version: 1")
    return 1


def _read_config(fields: Fields, problems: list[Problem]) -> Config:
    flavors = each_entry(fields["flavors"], itself, problems) if fields.has("flavors") else {}
    tenants = each_entry(fields["tenants"], itself, problems) if fields.has("tenants") else {}
    config = Config(
        {flavor: _read_flavor(flavor, node, problems) for flavor, node in flavors.items()},
        {path: _read_tenant(path, node, problems) for path, node in tenants.items()},
        read_policy(fields["policy"], problems) if fields.has("policy") else Policy(),
    )
    for fault in check_config(config):
        remedy = suggest(fault.unknown, fault.known) if fault.unknown and fault.known else fault.remedy
        problems.append(locate(fields.node, fault.where, fault.message, remedy))
    return config


def _read_flavor(flavor: str, node: Node, problems: list[Problem]) -> Flavor:
    fields = Fields(node, problems, ("price", "capacity"))
    price = fields.read("price", read_fraction, Fraction(1))
    return Flavor(flavor, price, None, read_capacity(fields["capacity"], problems) if fields.has("capacity") else None)


def _read_tenant(path: str, node: Node, problems: list[Problem]) -> Tenant:
    fields = Fields(node, problems, TENANT_KEYS)
    return Tenant(
        path,
        path.rpartition("/")[0] or None,
        fields.read("weight", read_fraction, Fraction(1)),
        read_quota(fields["quota"], problems) if fields.has("quota") else {},
        read_budget(fields["budget"], problems) if fields.has("budget") else None,
        **read_limits(fields),
    )


def _tenants_to_come(fields: Fields) -> list[str]:
    """Tenants that an event of the file adds."""
    events = fields["events"].items if fields.has("events") else ()
    return [path for event in events if "tenant" in event.entries for path in event.entries["tenant"].entries]
