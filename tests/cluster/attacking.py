"""Attack files against a real API server: each case in namespaces of its own, asked as its caller, as a dry run.

The webhook is this process: it judges by the file's world, so that what a file says of live owners need not be built.
"""

import base64
import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from io import StringIO
from pathlib import Path
from typing import Any, Final

from calling import MERGE_PATCH, Caller, Reply
from fairgate_admission.certificates.authority import issue, new_authority
from fairgate_admission.certificates.serving import load
from fairgate_admission.facts.identities import KUBERAY, KUEUE
from fairgate_admission.facts.names import TENANT
from fairgate_admission.facts.verdict import verdict
from fairgate_admission.facts.world import Reservation
from fairgate_admission.installing.manifests import policies
from fairgate_admission.installing.webhook import webhooks
from fairgate_admission.live.judge import Judgement
from fairgate_admission.offline.cases import Case
from fairgate_admission.offline.document_world import DocumentWorld
from fairgate_admission.offline.reading import read_attack_file
from fairgate_admission.review import review_fields
from fairgate_admission.running import SystemClock
from fairgate_admission.server.audit import Audit
from fairgate_admission.server.gate import Gate
from fairgate_admission.server.https import Server
from fairgate_admission.server.metrics import Metrics
from fairgate_scheduler.core.manifests.plain import Plain, get_map, get_text

MASTERS: Final = ("system:masters", "system:authenticated")
EVERYBODY: Final = "gate-tests"
ADMIN: Final = ("admin", MASTERS)
_PLACES: Final = re.compile(r"\bt([12])\b")


@dataclass(frozen=True)
class Outcome:
    """What came of a case on a cluster. ``reply`` ``None``: it could not be tried, and why not."""

    case: Case
    reply: Reply | None
    why: str = ""


class Stage:
    """What the webhook judges by: a file's world, or everything goes."""

    def __init__(self) -> None:
        self.world: DocumentWorld | None = None
        self.uids: dict[str, str] = {}
        self.asked: list[Mapping[str, Any]] = []

    def __call__(self, fields: Mapping[str, Any]) -> Judgement:
        self.asked.append(fields)
        if self.world is None:
            return Judgement(verdict("", []))
        return Judgement(review_fields(fields, _Aliased(self.world, self.uids)))


class _Aliased:
    """A ``World`` in which what was really made has the uid that its file gives it."""

    def __init__(self, world: DocumentWorld, uids: Mapping[str, str]) -> None:
        self._world, self._uids = world, uids

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def reservation(self, uid: str, namespace: str, rayjob: str) -> Reservation | None:
        return self._world.reservation(self._uids.get(uid, uid), namespace, rayjob)


@contextmanager
def staged(call: Caller) -> Iterator[Stage]:
    """Policies and webhook in the API server, the latter served by this process, until the end of the block."""
    now, stage, metrics = datetime.now(UTC), Stage(), Metrics()
    authority = new_authority(now)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load(context, issue(authority, ["127.0.0.1"], now))
    gate = Gate(stage, Audit(SystemClock(), StringIO()), metrics)
    server = Server(("127.0.0.1", 0), context, gate, metrics, lambda: "")
    server.start()
    manifest = called_at(webhooks("fairgate-system"), server.server_address[1], authority.certificate)
    objects = [*policies(), manifest]
    away = _take_away(call)
    try:
        for each in objects:
            apply(call, each)
        yield stage
    finally:
        for each in away:
            call("POST", call.path(each) or "", _new(each))
        for each in objects:
            call("DELETE", call.path(each, "", each["metadata"]["name"]) or "")
        server.drain(0, 1)
        gate.close()


def _take_away(call: Caller) -> list[Plain]:
    """Kueue's webhooks, which want owners to be there and change what they see: it is us who are tried."""
    away = []
    for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind}
        for each in call("GET", call.path(head) or "").body["items"]:
            if each["metadata"]["name"].startswith("kueue-"):
                away.append({**head, **each})
                call("DELETE", f"{call.path(head)}/{each['metadata']['name']}")
    return away


def called_at(manifest: Plain, port: int, bundle: str) -> Plain:
    """The webhooks, called on this machine."""
    for each in manifest["webhooks"]:
        trusted = {"caBundle": base64.b64encode(bundle.encode()).decode()} if bundle else {}
        each["clientConfig"] = {"url": f"https://127.0.0.1:{port}/review", **trusted}
    return manifest


def apply(call: Caller, manifest: Plain) -> None:
    """Server-side apply by the admin."""
    metadata = manifest["metadata"]
    path = call.path(manifest, metadata.get("namespace", ""), metadata["name"])
    query = "?fieldManager=tests&force=true"
    reply = call("PATCH", f"{path}{query}", manifest, content="application/apply-patch+yaml")
    assert reply.is_allowed, f"{path}: {reply.message}"


def cases(folder: Path, tag: str) -> Iterator[tuple[str, DocumentWorld, Case]]:
    """Every case of every file; ``t1`` and ``t2`` have other names in each, so that no case sees another's objects."""
    for file in sorted(folder.glob("*.attack.yaml")):
        text = file.read_text()
        for index in range(len(read_attack_file(text, file.name).cases)):
            unique = f"{tag}{file.stem.removesuffix('.attack')[:12].replace('-', '')}{index}"
            attack = read_attack_file(_PLACES.sub(rf"t\1-{unique}", text), file.name)
            yield f"{file.name}: {attack.cases[index].name}", DocumentWorld(attack.setting), attack.cases[index]


def attempt(call: Caller, stage: Stage, world: DocumentWorld, case: Case, rights: str) -> Outcome:
    """Build what the case needs, as if there were no gate, then ask as its caller. ``rights``: a role for tenants."""
    request = case.request
    stage.world = None
    for namespace in {request.namespace, *world.setting.tenants} - {""}:
        _make_namespace(call, namespace, world.setting.tenants.get(namespace, ""))
    if request.operation == "CONNECT":
        return Outcome(case, None, "nothing runs there that could be connected to")
    _furnish(call, world, request.object)
    target = request.current
    if request.kind in ("Scale", "Binding"):
        target = _parent(world, request.name, request.resource or "", request.kind, request.namespace)
    path = call.path(target, request.namespace, request.name) if target else None
    if path is None:
        return Outcome(case, None, f"no {request.kind} is served there")
    collection = path.removesuffix(f"/{request.name}") if request.name else path
    who = _caller(case)
    _bind(call, who[0], request.namespace, rights)
    is_shared = request.namespace not in world.setting.tenants
    live: Plain = {}
    if request.operation != "CREATE" or request.subresource:
        made = _make(call, collection, target if request.kind in ("Scale", "Binding") else request.old)
        if not made.is_allowed:
            return Outcome(case, None, f"its object could not be made: {made.message}")
        live = dict(made.body)
        stage.uids = {get_text(live["metadata"], "uid"): get_text(get_map(request.old, "metadata"), "uid")}
    stage.world = world
    try:
        return Outcome(case, _ask(call, (path, collection), case, live, who))
    finally:
        stage.world = None
        if live and is_shared:
            call("DELETE", f"{collection}/{live['metadata']['name']}?gracePeriodSeconds=0")


def _furnish(call: Caller, world: DocumentWorld, manifest: Plain) -> None:
    """Classes that pods name must be there, or the API server itself refuses them."""
    for each in world.setting.objects:
        if each["kind"] == "PriorityClass":
            call("POST", call.path(each) or "", _new({"value": 1000, **each, "globalDefault": False}))
    if name := get_text(get_map(manifest, "spec"), "runtimeClassName"):
        head = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "runc"}
        call("POST", call.path(head) or "", {**head, "metadata": {"name": name}})


def _ask(call: Caller, paths: tuple[str, str], case: Case, live: Plain, who: tuple[str, tuple[str, ...]]) -> Reply:
    request, (path, collection) = case.request, paths
    if request.operation == "DELETE":
        return call("DELETE", f"{path}?dryRun=All", dict(request.options) or None, who)
    if request.operation == "CREATE":
        at = f"{path}/{request.subresource}" if request.subresource else collection
        return call("POST", f"{at}?dryRun=All&fieldValidation=Strict", _new(request.object), who)
    at = f"{path}/{request.subresource}" if request.subresource else path
    change = difference(request.old, request.object)
    return call("PATCH", f"{at}?dryRun=All", change, who, MERGE_PATCH)


def difference(old: Any, new: Any) -> Any:
    """The JSON merge patch from one to the other; ``resourceVersion`` and ``uid`` stay the server's."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    out: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        if key not in old:
            out[key] = value
        elif value != old[key]:
            out[key] = difference(old[key], value)
    if "metadata" in out and isinstance(out["metadata"], dict):
        out["metadata"] = {k: v for k, v in out["metadata"].items() if k not in _SERVERS}
    return out


_SERVERS: Final = ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields")


def _new(manifest: Plain) -> Plain:
    metadata = {key: value for key, value in get_map(manifest, "metadata").items() if key not in _SERVERS}
    return {**manifest, "metadata": metadata}


def _make(call: Caller, collection: str, manifest: Plain) -> Reply:
    """By those whom the policies let; what is being deleted in the file is being deleted then."""
    user = KUEUE if "kueue.x-k8s.io" in collection else KUBERAY
    made = call("POST", f"{collection}?fieldValidation=Ignore", _new(manifest), (user, MASTERS))
    if made.status == HTTPStatus.CONFLICT:
        return call("GET", f"{collection}/{manifest['metadata']['name']}")
    if made.is_allowed and "deletionTimestamp" in get_map(manifest, "metadata"):
        gone = call("DELETE", f"{collection}/{made.body['metadata']['name']}", None, ADMIN)
        return gone if "metadata" in gone.body else made
    return made


def _parent(world: DocumentWorld, name: str, resource: str, kind: str, namespace: str) -> Plain:
    """What is scaled or bound: by the file, else a Deployment or a pod of that name."""
    container = {"name": "c", "image": "x"}
    if kind == "Binding":
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"schedulerName": "nobody", "containers": [container]},
        }
    for each in world.setting.objects:
        if get_text(get_map(each, "metadata"), "name") == name and each["kind"] != "Pod":
            labels = {"app": "a"}
            spec = {"selector": {"matchLabels": labels}, **each["spec"]}
            spec["template"] = {**spec["template"], "metadata": {"labels": labels}}
            return {**each, "spec": spec}
    return {}


def _caller(case: Case) -> tuple[str, tuple[str, ...]]:
    groups = dict.fromkeys([*case.request.groups, "system:authenticated", EVERYBODY])
    name = case.request.username
    if name.startswith("system:serviceaccount:"):
        groups = dict.fromkeys([*groups, "system:serviceaccounts", f"system:serviceaccounts:{name.split(':')[2]}"])
    return name, tuple(groups)


def _make_namespace(call: Caller, name: str, tenant: str) -> None:
    """With the account that pods need, which does not put anything into them."""
    labels = {TENANT: tenant} if tenant else {}
    head = {"apiVersion": "v1"}
    if not call("GET", f"/api/v1/namespaces/{name}").is_allowed:
        call("POST", "/api/v1/namespaces", {**head, "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        account = {**head, "kind": "ServiceAccount", "metadata": {"name": "default"}}
        account["automountServiceAccountToken"] = False
        call("POST", f"/api/v1/namespaces/{name}/serviceaccounts", account)


def _bind(call: Caller, user: str, namespace: str, rights: str) -> None:
    """Tenants get this role where they are; everybody else has every right: what is refused then, the gate refuses."""
    group = "rbac.authorization.k8s.io"
    head = {"apiVersion": f"{group}/v1"}
    everybody = {"apiGroup": group, "kind": "Group", "name": EVERYBODY}
    body = {"roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": rights}}
    if rights == "cluster-admin":
        manifest = {**head, "kind": "ClusterRoleBinding", "metadata": {"name": EVERYBODY}, **body}
        call("POST", f"/apis/{group}/v1/clusterrolebindings", {**manifest, "subjects": [everybody]})
        return
    manifest = {**head, "kind": "RoleBinding", "metadata": {"name": "tenant"}, **body}
    manifest["subjects"] = [{"apiGroup": group, "kind": "User", "name": user}]
    call("POST", f"/apis/{group}/v1/namespaces/{namespace}/rolebindings", manifest)
