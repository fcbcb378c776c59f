"""The webhook over a real HTTPS socket: whatever comes, an answer goes back, and it is a refusal if in doubt."""

import contextlib
import http.client
import io
import json
import socket
import ssl
import threading
import time
from datetime import UTC, datetime

import pytest
from fairgate_admission.certificates.authority import issue, new_authority
from fairgate_admission.certificates.serving import load
from fairgate_admission.facts.verdict import Denial, verdict
from fairgate_admission.live.judge import Judgement
from fairgate_admission.server.audit import Audit
from fairgate_admission.server.gate import Gate
from fairgate_admission.server.https import BODY_MAX, Server
from fairgate_admission.server.metrics import Metrics
from fairgate_scheduler.testing.sim_clock import SimClock
from hypothesis import given, settings
from hypothesis import strategies as st

UID = "0ea8f1a1-6f3c-4c5c-9a53-0c4a7d8f6f3e"
AUTHORITY = new_authority(datetime.now(UTC))
LEAF = issue(AUTHORITY, ["localhost"], datetime.now(UTC))


class Webhook:
    """A server with a judge that a test can change."""

    def __init__(self, deadline_s=2.5):
        self.judge = lambda fields: Judgement(verdict("Pod", []), "vision", "train-1", warnings=("w",))
        self.trouble, self.audit = "", io.StringIO()
        self.metrics = Metrics()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        load(context, LEAF)
        self.gate = Gate(self.judged, Audit(SimClock(), self.audit), self.metrics, deadline_s)
        self.server = Server(("127.0.0.1", 0), context, self.gate, self.metrics, lambda: self.trouble)
        self.server.start()
        self.connections = []

    def judged(self, fields):
        return self.judge(fields)

    def connect(self):
        context = ssl.create_default_context(cadata=AUTHORITY.certificate)
        connection = http.client.HTTPSConnection(
            "localhost", self.server.server_address[1], context=context, timeout=20
        )
        self.connections.append(connection)
        return connection

    def get(self, path):
        connection = self.connect()
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def post(self, body, connection=None):
        connection = connection or self.connect()
        connection.request("POST", "/review?timeout=3s", body)
        answer = connection.getresponse()
        assert answer.status == 200
        return json.loads(answer.read())["response"]

    def close(self):
        for each in self.connections:
            each.close()
        with contextlib.suppress(OSError):
            self.server.drain(0, 1)
        self.gate.close()


@pytest.fixture
def webhook():
    found = Webhook()
    yield found
    found.close()


def review(**request):
    fields = {"uid": UID, "operation": "CREATE", "object": {"kind": "Pod"}, **request}
    return json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": fields}).encode()


def test_an_answer_says_all_that_an_api_server_and_its_audit_take(webhook):
    assert webhook.post(review()) == {
        "uid": UID,
        "allowed": True,
        "auditAnnotations": {"reservation": "train-1"},
        "warnings": ["w"],
    }
    webhook.judge = lambda fields: Judgement(verdict("Pod", [Denial("FG-POD-001", "spec", "found", "remedy")]))
    denied = webhook.post(review())
    assert denied["status"] == {
        "code": 403,
        "reason": "Forbidden",
        "message": "Pod is refused by Fairgate:\n[FG-POD-001] found (field spec); remedy",
    }
    assert denied["auditAnnotations"] == {"rule": "FG-POD-001"}


def test_the_audit_says_who_did_what_and_nothing_of_what_a_manifest_holds(webhook):
    env = [{"name": "TOKEN", "value": "secret-1"}]
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"}, "spec": {"env": env}}
    user = {"username": "anna", "groups": ["g"], "extra": {"token": ["secret-2"]}}
    webhook.post(review(object=manifest, userInfo=user, namespace="vision", dryRun=True))
    [line] = webhook.audit.getvalue().splitlines()
    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20.000Z",
        "principal": "anna",
        "tenant": "vision",
        "verb": "CREATE",
        "apiVersion": "v1",
        "kind": "Pod",
        "subresource": "",
        "namespace": "vision",
        "name": "p-",
        "verdict": "allow",
        "rule": "",
        "rules": [],
        "fields": [],
        "reservation": "train-1",
        "exceptions": [],
        "uid": UID,
        "dryRun": True,
    }
    assert "secret" not in line


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"[]", "is no AdmissionReview"),
        (b"null", "is no AdmissionReview"),
        (b'{"a": NaN}', "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[" * 200_000, "is nested too deep"),
        (b"9" * 10_000, "is not JSON"),
        (b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1"}', "is no AdmissionReview"),
        (b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}', "has no request"),
        (b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": 7}', "has no request"),
    ],
)
def test_what_is_no_review_is_refused(webhook, body, found):
    answer = webhook.post(body)
    assert answer["allowed"] is False
    assert found in answer["status"]["message"]
    assert "FG-REQ-001" in answer["status"]["message"]


def test_what_is_too_large_is_refused_under_its_own_uid(webhook):
    answer = webhook.post(review(object={"kind": "Pod", "data": "x" * BODY_MAX}))
    assert (answer["uid"], answer["allowed"]) == (UID, False)
    assert "more than 8388608 bytes" in answer["status"]["message"]
    assert webhook.post(review())["allowed"], "the next one is answered"


def test_what_does_not_say_its_length_is_refused(webhook):
    answer = webhook.post(iter([review()]))
    assert answer["allowed"] is False
    assert "its length" in answer["status"]["message"]


@given(st.binary(max_size=300) | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
@settings(max_examples=60, deadline=None)
def test_whatever_comes_there_is_an_answer(body):
    gate = Gate(lambda fields: Judgement(verdict("", [])), Audit(SimClock(), io.StringIO()), Metrics())
    answer = json.loads(gate.answer(body if isinstance(body, bytes) else body.encode(), time.monotonic()))
    assert answer["response"]["allowed"] is False
    gate.close()


def test_what_is_not_judged_in_time_is_refused_and_what_fails_too():
    webhook, ending = Webhook(deadline_s=0.2), threading.Event()
    webhook.judge = lambda fields: ending.wait(5) and Judgement(verdict("", []))
    began_s = time.monotonic()
    answer = webhook.post(review())
    assert time.monotonic() - began_s < 2
    assert "could not be judged within 0.2 seconds; try again" in answer["status"]["message"]
    ending.set()
    webhook.judge = lambda fields: 1 / 0
    assert "the gate has failed" in webhook.post(review())["status"]["message"]
    webhook.close()


def test_many_at_once_are_answered_each_with_its_own(webhook):
    webhook.judge = lambda fields: Judgement(verdict(str(fields["name"]), [Denial("FG-POD-001", "", "f", "r")]))
    wrong = []

    def ask(number):
        connection = webhook.connect()
        for count in range(10):
            name = f"p{number}-{count}"
            answer = webhook.post(review(uid=name, name=name), connection)
            if answer["uid"] != name or name not in answer["status"]["message"]:
                wrong.append(name)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


def test_health_readiness_and_metrics(webhook):
    webhook.post(review())
    assert webhook.get("/healthz") == (200, "ok")
    assert webhook.get("/readyz") == (200, "ok")
    webhook.trouble = "has no certificate"
    assert webhook.get("/readyz") == (503, "has no certificate")
    assert webhook.get("/healthz") == (200, "ok")
    assert webhook.get("/else")[0] == 404
    status, text = webhook.get("/metrics")
    assert status == 200
    assert 'fairgate_gate_decisions_total{verdict="allow",rule=""} 1' in text
    assert 'fairgate_gate_decision_seconds_bucket{le="+Inf"} 1' in text


def test_it_ends_in_order(webhook):
    """What is being judged is answered, what comes meanwhile too, and nothing after that."""
    begun, ending = threading.Event(), threading.Event()

    def judge(fields):
        begun.set()
        ending.wait(5)
        return Judgement(verdict("", []))

    webhook.judge = judge
    answers = []
    asking = threading.Thread(target=lambda: answers.append(webhook.post(review())["allowed"]))
    asking.start()
    assert begun.wait(5)
    draining = threading.Thread(target=webhook.server.drain, args=(0.5, 5))
    draining.start()
    while not webhook.server.is_draining:
        time.sleep(0.01)
    assert webhook.get("/readyz") == (503, "is ending")
    ending.set()
    asking.join()
    draining.join()
    assert answers == [True]
    with pytest.raises(OSError):  # noqa: PT011 - refused or reset
        webhook.get("/healthz")


def test_a_caller_that_says_nothing_keeps_nobody_waiting(webhook):
    silent = [socket.create_connection(webhook.server.server_address) for _ in range(20)]
    assert webhook.post(review())["allowed"]
    for each in silent:
        each.close()
