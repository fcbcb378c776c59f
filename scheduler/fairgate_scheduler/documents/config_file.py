"""The configuration that platform admins keep in Git: one document, or several that together are one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from fairgate_scheduler.core.config_checks import Fault, check_config
from fairgate_scheduler.core.tenancy import Config, Flavor, Policy, Tenant
from fairgate_scheduler.documents.fields import Fields, attempt, each_entry, each_item, itself, locate
from fairgate_scheduler.documents.nodes import Kind, Node, parse_document
from fairgate_scheduler.documents.problems import DocumentError, Problem, suggest
from fairgate_scheduler.documents.scalars import (
    accelerator_name,
    read_boolean,
    read_fraction,
    read_integer,
    read_label,
    read_one_of,
    read_subdomain,
    read_text,
    wrong,
)
from fairgate_scheduler.documents.tenancy_fields import (
    LIMIT_KEYS,
    read_budget,
    read_capacity,
    read_limits,
    read_policy,
    read_priority,
    read_quota,
)

SECTIONS: Final = ("version", "flavors", "tenants", "priorities", "speeds", "policy")
FLAVOR_KEYS: Final = (
    "price",
    "resource",
    "capacity",
    "node_labels",
    "tolerations",
    "kueue_flavor",
    "default_for_cpu_pods",
)
TOLERATION_KEYS: Final = ("key", "operator", "value", "effect", "tolerationSeconds")
TENANT_KEYS: Final = (
    "id",
    "parent",
    "weight",
    "namespace",
    "quota",
    "budget",
    *LIMIT_KEYS,
    "service_accounts",
    "roles",
)
ROLES: Final = ("submitter", "operator", "viewer")
PRINCIPAL_KINDS: Final = ("user", "group", "serviceaccount")


Check = Callable[[Config], Iterable[Fault]]
"""Finds what is wrong with a configuration as a whole."""


def read_config(text: str, name: str = "config.yaml", checks: Sequence[Check] = (check_config,)) -> Config:
    """The configuration of one document.

    Raises:
        DocumentError: anything in it is wrong; it lists every problem with its line.
    """
    return read_configs([(name, text)], checks)


def read_configs(documents: Iterable[tuple[str, str]], checks: Sequence[Check] = (check_config,)) -> Config:
    """The configuration that several documents, as (name, text), make together. No name may be in two of them.

    Raises:
        DocumentError: anything in any of them is wrong.
    """
    problems: list[Problem] = []
    reading = _Reading(problems)
    for name, text in documents:
        try:
            reading.take(parse_document(text, name))
        except DocumentError as error:
            problems.extend(error.problems)
    config = reading.config()
    problems.extend(reading.locate(fault) for check in checks for fault in check(config))
    if problems:
        raise DocumentError(problems)
    return config


class _Reading:
    """What has been read so far, and where each name was declared."""

    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems
        self._flavors: dict[str, Flavor] = {}
        self._tenants: dict[str, Tenant] = {}
        self._priorities: dict[str, int] = {}
        self._speeds: dict[str, Mapping[str, Fraction]] = {}
        self._policy: Policy | None = None
        self._nodes: dict[tuple[str, str], Node] = {}
        self._roots: list[Node] = []

    def config(self) -> Config:
        return Config(self._flavors, self._tenants, self._policy or Policy(), self._priorities, self._speeds)

    def take(self, root: Node) -> None:
        self._roots.append(root)
        fields = Fields(root, self._problems, SECTIONS, ["version"])
        fields.read("version", _read_version, None)
        if fields.has("flavors"):
            self._take_flavors(fields["flavors"])
        for item in each_item(fields["tenants"], itself, self._problems) if fields.has("tenants") else ():
            self._take_tenant(item)
        for priority, node in self._named("priorities", fields):
            value = attempt(node, read_priority, None, self._problems)
            if value is not None:
                self._priorities[priority] = value
        for item in each_item(fields["speeds"], itself, self._problems) if fields.has("speeds") else ():
            self._take_speeds(item)
        if fields.has("policy"):
            if self._policy is not None:
                self._problems.append(fields["policy"].problem("a second policy", "keep it in one file"))
            self._policy = read_policy(fields["policy"], self._problems)
            self._nodes["policy", ""] = fields["policy"]

    def _named(self, section: str, fields: Fields) -> list[tuple[str, Node]]:
        entries = fields.each(section, itself)
        return [(name, node) for name, node in entries.items() if self._declare(section, name, node)]

    def _declare(self, section: str, name: str, node: Node) -> bool:
        """Remember where a name is declared; False, with a problem, if it was declared before."""
        before = self._nodes.setdefault((section, name), node)
        if before is node:
            return True
        where = f"line {before.line}" if before.file == node.file else f"{before.file}, line {before.line}"
        self._problems.append(node.problem(f"{name!r} a second time, first on {where}", "keep one of them"))
        return False

    def _take_flavors(self, node: Node) -> None:
        for name, body in each_entry(node, itself, self._problems).items():
            if self._declare("flavors", name, body):
                named = replace(body, kind=Kind.SCALAR, text=name, line=node.key_lines.get(name, body.line))
                attempt(named, read_label, name, self._problems)
                self._flavors[name] = _read_flavor(name, body, self._problems)

    def _take_tenant(self, node: Node) -> None:
        fields = Fields(node, self._problems, TENANT_KEYS, ["id"])
        if not fields.has("id"):
            return
        written = fields["id"].text
        tenant = fields.read("id", read_label, written)
        if self._declare("tenants", tenant, node):
            self._tenants[tenant] = _read_tenant(tenant, fields, self._problems)

    def _take_speeds(self, node: Node) -> None:
        if node.kind is not Kind.MAPPING or "workload" not in node.entries:
            self._problems.append(node.problem("workload is missing", "add workload: NAME"))
            return
        workload = attempt(node.entries["workload"], read_text, "", self._problems)
        if not workload or not self._declare("speeds", workload, node):
            return
        flavors = replace(node, entries={key: child for key, child in node.entries.items() if key != "workload"})
        self._speeds[workload] = each_entry(flavors, read_fraction, self._problems)

    def locate(self, fault: Fault) -> Problem:
        """The problem that a fault of the config is in the document it came from."""
        section, *names = fault.where
        node = self._nodes.get((section, names[0])) if names else None
        rest = names[1:]
        if node is None and (section, "") in self._nodes:
            node, rest = self._nodes[section, ""], names
        if node is None:
            node, rest = (self._roots[0] if self._roots else Node(Kind.NULL, 1)), []
        remedy = suggest(fault.unknown, fault.known) if fault.unknown and fault.known else fault.remedy
        return locate(node, rest, fault.message, remedy)


def _read_version(node: Node) -> int:
    if read_text(node) != "1":
        raise wrong(node, f"version {node.text!r} is not known", "write version: 1")
    return 1


def _read_flavor(name: str, node: Node, problems: list[Problem]) -> Flavor:
    fields = Fields(node, problems, FLAVOR_KEYS)
    return Flavor(
        name,
        fields.read("price", read_fraction, Fraction(1)),
        fields.read("resource", accelerator_name, None),
        read_capacity(fields["capacity"], problems) if fields.has("capacity") else None,
        fields.each("node_labels", read_text),
        tuple(
            _read_toleration(item, problems)
            for item in (each_item(fields["tolerations"], itself, problems) if fields.has("tolerations") else ())
        ),
        fields.read("kueue_flavor", read_subdomain, None),
        fields.read("default_for_cpu_pods", read_boolean, False),
    )


def _read_toleration(node: Node, problems: list[Problem]) -> Mapping[str, str]:
    fields = Fields(node, problems, TOLERATION_KEYS)
    readers: Mapping[str, Any] = {
        "key": read_text,
        "operator": read_one_of(["Exists", "Equal"]),
        "value": read_text,
        "effect": read_one_of(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
        "tolerationSeconds": _read_seconds,
    }
    out = {key: fields.read(key, reader, "") for key, reader in readers.items() if fields.has(key)}
    if out.get("operator") == "Exists" and "value" in out:
        problems.append(node.problem("operator Exists with a value", "remove the value, or write operator: Equal"))
    return out


def _read_seconds(node: Node) -> str:
    return str(read_integer()(node))


def _read_tenant(tenant: str, fields: Fields, problems: list[Problem]) -> Tenant:
    roles = {role: _read_principals(fields, role, problems) for role in _role_names(fields, problems)}
    return Tenant(
        tenant,
        fields.read("parent", read_text, None),
        fields.read("weight", read_fraction, Fraction(1)),
        read_quota(fields["quota"], problems) if fields.has("quota") else {},
        read_budget(fields["budget"], problems) if fields.has("budget") else None,
        namespace=fields.read("namespace", read_label, None),
        service_accounts=fields.listed("service_accounts", read_subdomain),
        roles=roles,
        **read_limits(fields),
    )


def _role_names(fields: Fields, problems: list[Problem]) -> list[str]:
    if not fields.has("roles"):
        return []
    roles = Fields(fields["roles"], problems, ROLES)
    return [role for role in ROLES if roles.has(role)]


def _read_principals(fields: Fields, role: str, problems: list[Problem]) -> tuple[str, ...]:
    return each_item(fields["roles"].entries[role], _read_principal, problems)


def _read_principal(node: Node) -> str:
    kind, colon, name = read_text(node).partition(":")
    if not colon or not name or kind not in PRINCIPAL_KINDS:
        raise wrong(node, f"{node.text!r} names nobody", "write user:NAME, group:NAME or serviceaccount:NAMESPACE/NAME")
    return node.text
