"""How fast the gate judges: every request of the attack files, in process, and through its HTTPS server."""

import http.client
import io
import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from endtoend import percentile
from fairgate_admission.certificates.authority import issue, new_authority
from fairgate_admission.certificates.serving import load
from fairgate_admission.live.judge import Judgement
from fairgate_admission.offline.cases import Case
from fairgate_admission.offline.document_world import DocumentWorld
from fairgate_admission.offline.reading import read_attack_file
from fairgate_admission.review import review_fields
from fairgate_admission.running import SystemClock
from fairgate_admission.server.admission_review import API_VERSION, KIND
from fairgate_admission.server.audit import Audit
from fairgate_admission.server.gate import Gate
from fairgate_admission.server.https import PATH, Server
from fairgate_admission.server.metrics import Metrics

ATTACKS: Final = Path(__file__).resolve().parents[2] / "admission" / "attacks"


@dataclass(frozen=True)
class _Asked:
    world: DocumentWorld
    body: bytes
    fields: Mapping[str, Any]


def review(times: int) -> dict[str, Any]:
    """The judgement alone, from plain data to the verdict."""
    return _measured(times, lambda asked: review_fields(asked.fields, asked.world))


def https(times: int) -> dict[str, Any]:
    """From the request's bytes to the answer's by one caller that keeps its connection; the audit line included."""
    now, metrics, world = datetime.now(UTC), Metrics(), [DocumentWorld(read_attack_file(_EMPTY, "empty").setting)]
    authority, context = new_authority(now), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load(context, issue(authority, ["localhost"], now))
    judge = Gate(
        lambda fields: Judgement(review_fields(fields, world[0])), Audit(SystemClock(), io.StringIO()), metrics
    )
    server = Server(("127.0.0.1", 0), context, judge, metrics, lambda: "")
    server.start()
    trust = ssl.create_default_context(cadata=authority.certificate)
    caller = http.client.HTTPSConnection("localhost", server.server_address[1], context=trust)

    def ask(asked: _Asked) -> None:
        world[0] = asked.world
        caller.request("POST", PATH, asked.body)
        caller.getresponse().read()

    try:
        return _measured(times, ask)
    finally:
        caller.close()
        server.drain(0, 1)
        judge.close()


_EMPTY: Final = "version: 1\nworld: {}\ncases: []\n"


def _measured(times: int, act: Callable[[_Asked], object]) -> dict[str, Any]:
    requests = list(_requests())
    took_ms = []
    for _ in range(times):
        for each in requests:
            began_s = time.perf_counter()
            act(each)
            took_ms.append(1000 * (time.perf_counter() - began_s))
    return {
        "reviews": len(took_ms),
        "reviews_per_s": round(1000 * len(took_ms) / sum(took_ms), 1),
        "p50_ms": round(percentile(took_ms, 50), 3),
        "p99_ms": round(percentile(took_ms, 99), 3),
        "longest_ms": round(max(took_ms), 3),
    }


def _requests() -> Iterator[_Asked]:
    for file in sorted(ATTACKS.glob("*.attack.yaml")):
        attack = read_attack_file(file.read_text(), file.name)
        for case in attack.cases:
            body = json.dumps({"apiVersion": API_VERSION, "kind": KIND, "request": _on_the_wire(case)})
            yield _Asked(DocumentWorld(attack.setting), body.encode(), _fields(case))


def _on_the_wire(case: Case) -> dict[str, Any]:
    asked = case.request
    return {
        "uid": "00000000-0000-0000-0000-000000000000",
        "operation": asked.operation,
        "userInfo": {"username": asked.username, "groups": list(asked.groups)},
        "subResource": asked.subresource,
        "resource": {"resource": asked.resource},
        "namespace": asked.namespace,
        "name": asked.name,
        "object": asked.object or None,
        "oldObject": asked.old or None,
        "options": asked.options,
    }


def _fields(case: Case) -> dict[str, Any]:
    asked = case.request
    keys = ("operation", "username", "groups", "subresource", "resource", "namespace", "name", "options")
    return {**{key: getattr(asked, key) for key in keys}, "object": asked.object, "old": asked.old}
