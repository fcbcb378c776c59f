"""Reading attack files, version 1: strict, every problem with its line."""

from collections.abc import Collection
from typing import Any, Final

from fairgate_scheduler.core.amounts import Amount, parse_quantity
from fairgate_scheduler.core.manifests.findings import ManifestError
from fairgate_scheduler.core.manifests.placement import ACCELERATORS
from fairgate_scheduler.core.manifests.plain import Plain, get_map, get_text, normalize
from fairgate_scheduler.documents.mapping import MappingDocument, read_mapping
from fairgate_scheduler.documents.nodes import child_path
from fairgate_scheduler.documents.problems import DocumentError, Problem, suggest

from fairgate_admission.facts.request import OPERATIONS, read_request
from fairgate_admission.facts.world import AdmittedGroup, Reservation, Settings
from fairgate_admission.offline.cases import AttackFile, Case, Layer, Setting

_ROOT: Final = ("version", "name", "world", "cases")
_WORLD: Final = ("tenants", "queues", "accelerators", "admitted", "objects", "lookup_errors")
_CASE: Final = (
    "name", "as", "operation", "subresource", "resource", "options", "object", "old", "want", "layer", "rule",
)  # fmt: skip


def read_attack_file(text: str, file: str) -> AttackFile:
    """The cases of one file.

    Raises:
        DocumentError: anything in it is wrong; it lists every problem.
    """
    document = read_mapping(text, file)
    reader = _Reader(document)
    data = reader.map(document.data, "", _ROOT, ("version", "world", "cases"))
    if data.get("version", 1) != 1:
        reader.add("version", f"version {data['version']!r} is not known", "write version: 1")
    setting = _read_world(reader, data.get("world"))
    cases = [
        case
        for index, item in enumerate(reader.items(data, "cases", ""))
        if (case := _read_case(reader, item, f"cases[{index}]", setting)) is not None
    ]
    if reader.problems:
        raise DocumentError(reader.problems)
    return AttackFile(file, str(data.get("name") or file), setting, tuple(cases))


class _Reader:
    """Looks into plain data and collects what is wrong with it."""

    def __init__(self, document: MappingDocument) -> None:
        self.document = document
        self.problems: list[Problem] = []

    def add(self, path: str, message: str, remedy: str) -> None:
        line = self.document.line_of(path)
        self.problems.append(Problem(path, line, message, remedy, self.document.name))

    def map(self, value: Any, path: str, known: Collection[str], required: Collection[str] = ()) -> dict[str, Any]:
        """A map with known keys; empty, with a problem, if it is none. No known keys: any."""
        if value is None:
            value = {}
        if not isinstance(value, dict):
            self.add(path, "is not a mapping", f"write {', '.join(known) or 'name'}: …")
            return {}
        for key in value:
            if known and key not in known:
                self.add(child_path(path, key), f"unknown key {key!r}", suggest(key, known))
        for key in required:
            if value.get(key) is None:
                self.add(path, f"{key} is missing", f"add {key}: …")
        return value

    def items(self, value: dict[str, Any], key: str, path: str) -> list[Any]:
        found = value.get(key)
        if found is None or isinstance(found, list):
            return found or []
        self.add(child_path(path, key), "is not a list", "begin each item with a dash")
        return []

    def text(self, value: dict[str, Any], key: str, path: str, default: str = "") -> str:
        found = value.get(key)
        if found is None:
            return default
        if isinstance(found, dict | list):
            self.add(child_path(path, key), "is not a single value", "write one word")
            return default
        return str(found)

    def choice(self, value: dict[str, Any], key: str, path: str, words: Collection[str]) -> str:
        """One of these words; the first of them if it is left out or wrong."""
        default = next(iter(words))
        found = self.text(value, key, path, default)
        if found in words:
            return found
        self.add(child_path(path, key), f"unknown word {found!r}", suggest(found, words))
        return default

    def count(self, value: dict[str, Any], key: str, path: str, default: int) -> int:
        found = value.get(key, default)
        if isinstance(found, int) and not isinstance(found, bool) and found >= 0:
            return found
        self.add(child_path(path, key), f"{found!r} is not a number of pods", "write 0 or more")
        return default


def _read_world(reader: _Reader, value: Any) -> Setting:
    world = reader.map(value, "world", _WORLD)
    tenants: dict[str, str] = {}
    for name, item in reader.map(world.get("tenants"), "world.tenants", ()).items():
        at = child_path("world.tenants", name)
        fields = reader.map(item, at, ("namespace", "users"))
        namespace = reader.text(fields, "namespace", at, name)
        if namespace in tenants:
            reader.add(at, f"the namespace {namespace!r} has a tenant already", "give each its own")
        tenants[namespace] = name
    queues = reader.map(world.get("queues"), "world.queues", ("inbox", "launch"))
    settings = Settings(
        inbox=reader.text(queues, "inbox", "world.queues", "inbox"),
        launch=reader.text(queues, "launch", "world.queues", "fairgate"),
        accelerators=tuple(map(str, reader.items(world, "accelerators", "world"))) or ACCELERATORS,
    )
    admitted = [
        _read_reservation(reader, item, f"world.admitted[{index}]", tenants)
        for index, item in enumerate(reader.items(world, "admitted", "world"))
    ]
    objects = [
        _plain(reader, item, f"world.objects[{index}]")
        for index, item in enumerate(reader.items(world, "objects", "world"))
    ]
    errors = tuple(map(str, reader.items(world, "lookup_errors", "world")))
    return Setting(tenants, settings, tuple(admitted), tuple(objects), errors)


def _read_reservation(reader: _Reader, value: Any, path: str, tenants: dict[str, str]) -> Reservation:
    keys = ("tenant", "rayjob", "uid", "flavor", "digest", "pods")
    fields = reader.map(value, path, keys, ("tenant", "rayjob", "pods"))
    tenant = reader.text(fields, "tenant", path)
    if tenant and tenant not in tenants.values():
        reader.add(child_path(path, "tenant"), f"no tenant {tenant!r}", suggest(tenant, tenants.values()))
    groups = {
        name: _read_group(reader, item, child_path(f"{path}.pods", name))
        for name, item in reader.map(fields.get("pods"), f"{path}.pods", ()).items()
    }
    names = [reader.text(fields, key, path) for key in ("rayjob", "uid", "digest")]
    return Reservation(tenant, names[0], names[1], groups, names[2])


def _read_group(reader: _Reader, value: Any, path: str) -> AdmittedGroup:
    fields = reader.map(value, path, ("count", "max", "requests"), ("count",))
    count = reader.count(fields, "count", path, 1)
    requests: dict[str, Amount] = {}
    at = child_path(path, "requests")
    for resource, text in reader.map(fields.get("requests"), at, ()).items():
        try:
            requests[resource] = parse_quantity(text, resource)
        except ValueError as error:
            message, _, remedy = str(error).partition("; ")
            reader.add(child_path(at, resource), message, remedy)
    return AdmittedGroup(count, reader.count(fields, "max", path, count), requests)


def _read_case(reader: _Reader, value: Any, path: str, setting: Setting) -> Case | None:
    known = len(reader.problems)
    fields = reader.map(value, path, _CASE, ("name", "as", "operation", "want"))
    caller = reader.map(fields.get("as"), f"{path}.as", ("username", "groups"), ("username",))
    want = reader.choice(fields, "want", path, ("deny", "allow"))
    layer = reader.choice(fields, "layer", path, tuple(map(str, Layer)))
    operation = reader.choice(fields, "operation", path, OPERATIONS)
    request: dict[str, Any] = {
        "operation": operation,
        "username": reader.text(caller, "username", f"{path}.as"),
        "groups": reader.items(caller, "groups", f"{path}.as"),
        **{key: reader.text(fields, key, path) for key in ("subresource", "resource")},
        **{key: reader.map(fields.get(key), child_path(path, key), ()) for key in ("object", "old", "options")},
    }
    if len(reader.problems) > known:
        return None
    if operation == "UPDATE" and not request["old"]:
        request["old"] = _as_it_is(request["object"], setting)
    try:
        read = read_request(request)
    except ManifestError as error:
        for finding in error.findings:
            reader.add(f"{path}.{finding.field}", finding.message, finding.remedy)
        return None
    name, rule = reader.text(fields, "name", path), reader.text(fields, "rule", path)
    return Case(name, reader.document.line_of(path), read, want == "allow", Layer(layer), rule)


def _as_it_is(manifest: Plain, setting: Setting) -> Plain:
    """What an update that does not say it would change: the live object, or one of that name without content."""
    head = {key: manifest.get(key) for key in ("apiVersion", "kind")}
    place = {key: get_text(get_map(manifest, "metadata"), key) for key in ("namespace", "name")}
    for each in setting.objects:
        if all(each.get(key) == value for key, value in head.items()) and all(
            get_text(get_map(each, "metadata"), key) == value for key, value in place.items()
        ):
            return each
    return {**head, "metadata": place}


def _plain(reader: _Reader, value: Any, path: str) -> Plain:
    fields = reader.map(value, path, (), ("apiVersion", "kind", "metadata"))
    try:
        return dict(normalize(fields))
    except ManifestError as error:
        reader.add(path, str(error), "")
        return {}
