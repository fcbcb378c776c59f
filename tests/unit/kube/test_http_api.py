"""The HTTP client against a server that answers what a test tells it to: what it asks, and what it makes of answers."""

import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from fairgate_scheduler.adapters.kube.api import (
    ApiError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    UnavailableError,
)
from fairgate_scheduler.adapters.kube.api.connection import Patience
from fairgate_scheduler.adapters.kube.api.http import HttpApi
from fairgate_scheduler.adapters.kube.api.kinds import CONFIG_MAP, NODE, RAY_JOB
from kubernetes.config import kube_config

HANG_UP = object()
"""An answer that is none: the connection is closed."""


class Server:
    """Answers one after the other; the last one again and again."""

    def __init__(self):
        self.answers = []
        self.requests = []
        handler = type("Handler", (_Handler,), {"server_": self, "protocol_version": "HTTP/1.1"})
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.http.daemon_threads = True
        self._thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self._thread.start()

    def answer(self, code, body, headers=()):
        raw = body if body is HANG_UP or isinstance(body, (bytes, list)) else json.dumps(body).encode()
        self.answers.append((code, raw, dict(headers)))

    def next_answer(self):
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    def _handle(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        split = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(split.query).items()}
        self.server_.requests.append((self.command, split.path, query, dict(self.headers), body and json.loads(body)))
        code, raw, headers = self.server_.next_answer()
        if raw is HANG_UP:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        if isinstance(raw, bytes):
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in raw:
            if piece is HANG_UP:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            if isinstance(piece, float):
                time.sleep(piece)
            else:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_PATCH = do_DELETE = _handle  # noqa: N815

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture
def api(server, tmp_path):
    api = HttpApi.load(_kubeconfig(tmp_path, server.http.server_address[1], {"token": "secret"}))
    yield api
    api.close()


def _kubeconfig(folder, port, user):
    file = folder / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    users = [{"name": "u", "user": user}]
    file.write_text(json.dumps({"clusters": [cluster], "contexts": [context], "users": users, "current-context": "x"}))
    return file


def _status(code, reason, message, **more):
    return {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message, **more}


def _node(name, version="7"):
    return {"metadata": {"name": name, "resourceVersion": version}}


def _line(type_, object_):
    return json.dumps({"type": type_, "object": object_}, ensure_ascii=False).encode() + b"\n"


def test_what_is_asked_and_as_whom(server, api):
    server.answer(200, _node("n"))
    api.get(RAY_JOB, "a", "ns")
    api.apply(CONFIG_MAP, {"metadata": {"name": "a", "namespace": "ns"}}, force=True, dry_run=True)
    api.patch(RAY_JOB, "a", {"status": {}}, "ns", subresource="status")
    api.delete(NODE, "n", uid="u-1", propagation="Foreground")
    api.create(CONFIG_MAP, {"metadata": {"name": "a", "namespace": "ns"}})
    api.read_log("p", "ns", "c", 10)
    asked = [(verb, path, query, body) for verb, path, query, _, body in server.requests]
    map_ = {"metadata": {"name": "a", "namespace": "ns"}, "apiVersion": "v1", "kind": "ConfigMap"}
    ours = {"fieldManager": "fairgate"}
    assert asked == [
        ("GET", "/apis/ray.io/v1/namespaces/ns/rayjobs/a", {}, b""),
        ("PATCH", "/api/v1/namespaces/ns/configmaps/a", {**ours, "force": "true", "dryRun": "All"}, map_),
        ("PATCH", "/apis/ray.io/v1/namespaces/ns/rayjobs/a/status", ours, {"status": {}}),
        ("DELETE", "/api/v1/nodes/n", {}, {"propagationPolicy": "Foreground", "preconditions": {"uid": "u-1"}}),
        ("POST", "/api/v1/namespaces/ns/configmaps", ours, map_),
        ("GET", "/api/v1/namespaces/ns/pods/p/log", {"container": "c", "limitBytes": "10"}, b""),
    ]
    contents = [headers.get("Content-Type") for _, _, _, headers, _ in server.requests]
    patches = ["application/apply-patch+yaml", "application/merge-patch+json"]
    assert contents == [None, *patches, "application/json", "application/json", None]
    assert {headers["authorization"] for _, _, _, headers, _ in server.requests} == {"Bearer secret"}


def test_pages_are_put_together(server, api):
    server.answer(200, {"metadata": {"resourceVersion": "5", "continue": "t/1"}, "items": [_node("a"), _node("b")]})
    server.answer(200, {"metadata": {"resourceVersion": "5"}, "items": [_node("c")]})
    found = api.list(NODE, labels="a=b")
    assert ([each["metadata"]["name"] for each in found.items], found.resource_version) == (["a", "b", "c"], "5")
    first = {"labelSelector": "a=b", "limit": "500"}
    assert [query for _, _, query, _, _ in server.requests] == [first, {**first, "continue": "t/1"}]


def test_pages_that_are_too_old_are_read_again_as_one(server, api):
    server.answer(200, {"metadata": {"resourceVersion": "5", "continue": "t"}, "items": [_node("a")]})
    server.answer(410, _status(410, "Expired", "The provided continue parameter is too old"))
    server.answer(200, {"metadata": {"resourceVersion": "9"}, "items": [_node("b"), _node("c")]})
    found = api.list(NODE)
    assert ([each["metadata"]["name"] for each in found.items], found.resource_version) == (["b", "c"], "9")
    assert [query for _, _, query, _, _ in server.requests] == [{"limit": "500"}, {"limit": "500", "continue": "t"}, {}]


def test_an_empty_list_may_be_null(server, api):
    server.answer(200, {"metadata": {"resourceVersion": "5"}, "items": None})
    assert api.list(NODE).items == ()


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [
        (400, "BadRequest", InvalidError),
        (401, "Unauthorized", ForbiddenError),
        (403, "Forbidden", ForbiddenError),
        (404, "NotFound", NotFoundError),
        (409, "AlreadyExists", ConflictError),
        (409, "Conflict", ConflictError),
        (410, "Expired", GoneError),
        (418, "Teapot", ApiError),
        (422, "Invalid", InvalidError),
        (429, "TooManyRequests", UnavailableError),
        (500, "InternalError", UnavailableError),
        (503, "ServiceUnavailable", UnavailableError),
        (504, "Timeout", UnavailableError),
    ],
)
def test_refusals_by_what_they_mean(server, api, code, reason, error):
    server.answer(code, _status(code, reason, "the server's words"))
    with pytest.raises(ApiError, match=r"^the server's words$") as raised:
        api.create(CONFIG_MAP, {"metadata": {"name": "a", "namespace": "ns"}})
    assert (type(raised.value), raised.value.reason) == (error, reason)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (_status(500, "", "failed to create typed patch object (a/b): .spec.c: not declared in schema"), InvalidError),
        (_status(422, "Invalid", "immutable", details={"causes": [{"field": "metadata.uid"}]}), ConflictError),
        (_status(504, "Timeout", "too large", details={"causes": [{"reason": "ResourceVersionTooLarge"}]}), GoneError),
        (_status(500, "InternalError", "failed calling webhook", details={"causes": None}), UnavailableError),
        ({"message": "not a status"}, UnavailableError),
    ],
)
def test_refusals_that_do_not_say_what_they_are(server, api, status, error):
    server.answer(status.get("code", 500), status)
    with pytest.raises(ApiError) as raised:
        api.patch(CONFIG_MAP, "a", {}, "ns")
    assert type(raised.value) is error


def test_a_refusal_by_something_else_on_the_way_is_told_as_it_is(server, api):
    server.answer(502, b"<html>bad gateway</html>")
    with pytest.raises(UnavailableError, match="HTTP 502: <html>bad gateway</html>"):
        api.patch(CONFIG_MAP, "a", {}, "ns")


def test_an_answer_that_is_no_json_is_no_answer(server, api):
    server.answer(200, b"<html>log in</html>")
    with pytest.raises(UnavailableError, match="not JSON"):
        api.get(NODE, "n")
    with pytest.raises(UnavailableError, match="not JSON"):
        api.list(NODE)


def test_reads_are_tried_again_and_writes_are_not(server, api):
    server.answer(0, HANG_UP)
    server.answer(0, HANG_UP)
    server.answer(200, _node("n"))
    assert api.get(NODE, "n")["metadata"]["name"] == "n"
    assert len(server.requests) == 3
    server.answers.clear()
    server.answer(0, HANG_UP)
    for write in (
        lambda: api.create(NODE, _node("n")),
        lambda: api.apply(NODE, _node("n")),
        lambda: api.patch(NODE, "n", {}),
        lambda: api.delete(NODE, "n"),
    ):
        server.requests.clear()
        with pytest.raises(UnavailableError, match="/api/v1/nodes"):
            write()
        assert len(server.requests) == 1


def test_nobody_listens(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        api = HttpApi.load(_kubeconfig(tmp_path, unused.getsockname()[1], {}))
        with pytest.raises(UnavailableError, match="refused"):
            api.patch(NODE, "n", {})
        api.close()


def test_a_silent_server_is_not_waited_for_without_end(server, tmp_path):
    kubeconfig = _kubeconfig(tmp_path, server.http.server_address[1], {"token": "secret"})
    api = HttpApi.load(kubeconfig, patience=Patience(read_s=0.1, retries=0))
    server.answer(200, [0.5])
    with pytest.raises(UnavailableError, match="timed out"):
        api.patch(NODE, "n", {})
    server.answer(200, [0.5])
    with pytest.raises(UnavailableError, match="timed out"):
        api.get(NODE, "n")
    api.close()


def test_a_redirect_is_not_followed(server, api):
    server.answer(307, b"", {"Location": "http://elsewhere.example.com/"})
    for call in (lambda: api.get(NODE, "n"), lambda: api.patch(NODE, "n", {})):
        with pytest.raises(ApiError, match="HTTP 307"):
            call()


def test_events_of_a_watch_may_be_cut_anywhere(server, api):
    lines = _line("ADDED", _node("ä")) + _line("BOOKMARK", _node("", "9"))
    cut = lines.index("ä".encode()) + 1
    server.answer(200, [lines[:cut], lines[cut : cut + 3], lines[cut + 3 :]])
    events = list(api.watch(NODE, "7", labels="a=b", timeout_s=30))
    assert [(each.type, each.object["metadata"]["resourceVersion"]) for each in events] == [
        ("ADDED", "7"),
        ("BOOKMARK", "9"),
    ]
    assert events[0].object["kind"] == "Node"
    assert server.requests[0][2] == {
        "watch": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": "7",
        "timeoutSeconds": "30",
        "labelSelector": "a=b",
    }


def test_too_old_is_said_at_once_or_in_the_middle(server, api):
    expired = _status(410, "Expired", "too old resource version: 1 (7)")
    server.answer(410, expired)
    server.answer(200, [_line("ADDED", _node("a")), _line("ERROR", expired), _line("ADDED", _node("b"))])
    with pytest.raises(GoneError, match="too old"):
        api.watch(NODE, "1")
    watch = api.watch(NODE, "1")
    assert next(watch).object["metadata"]["name"] == "a"
    with pytest.raises(GoneError, match="too old"):
        next(watch)
    assert list(watch) == []


@pytest.mark.parametrize("end", [[HANG_UP], [b'{"type": "ADD', HANG_UP], [b'{"type": "ADD'], [b"no json\n"]])
def test_a_watch_that_breaks_off_is_lost(server, api, end):
    server.answer(200, [_line("ADDED", _node("a")), *end])
    watch = api.watch(NODE, "1")
    assert next(watch).object["metadata"]["name"] == "a"
    with pytest.raises(UnavailableError, match="watch of nodes lost"):
        next(watch)


def test_a_watch_is_closed_while_another_thread_waits_in_it(server, api):
    server.answer(200, [_line("ADDED", _node("a")), 1.0])
    watch = api.watch(NODE, "1")
    next(watch)
    closer = threading.Timer(0.05, watch.close)
    began = time.monotonic()
    closer.start()
    assert list(watch) == []
    assert time.monotonic() - began < 0.5
    closer.join()
    watch.close()


def test_a_login_plugin_is_run_and_asked_again_when_its_token_is_over(server, tmp_path):
    plugin = tmp_path / "login"
    count = tmp_path / "count"
    version = "client.authentication.k8s.io/v1"
    status = {"token": "tNUMBER", "expirationTimestamp": "2020-01-01T00:00:00Z"}
    answer = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})
    plugin.write_text(f"#!/bin/sh\necho x >> {count}\necho '{answer}' | sed s/NUMBER/$(grep -c x {count})/\n")
    plugin.chmod(0o755)
    user = {"exec": {"apiVersion": version, "command": str(plugin), "interactiveMode": "Never"}}
    api = HttpApi.load(_kubeconfig(tmp_path, server.http.server_address[1], user))
    server.answer(200, _node("n"))
    api.get(NODE, "n")
    api.get(NODE, "n")
    tokens = [headers["authorization"] for _, _, _, headers, _ in server.requests]
    assert tokens == ["Bearer t2", "Bearer t3"]
    api.close()


def test_a_configuration_that_can_not_be_read_says_which(tmp_path):
    with pytest.raises(ForbiddenError, match=r"kubeconfig .*missing"):
        HttpApi.load(tmp_path / "missing")
    broken = tmp_path / "broken"
    for text in ("a: [", "[1]", "", "contexts: 3\ncurrent-context: x"):
        broken.write_text(text)
        with pytest.raises(ForbiddenError, match=r"kubeconfig .*broken"):
            HttpApi.load(broken)
    file = _kubeconfig(tmp_path, 1, {})
    with pytest.raises(ForbiddenError, match=r"kubeconfig .*nowhere"):
        HttpApi.load(file, "nowhere")


def test_in_a_pod_without_a_service_account_it_is_said(monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    with pytest.raises(ForbiddenError, match="the pod's service account: "):
        HttpApi.load()


def test_outside_of_a_pod_it_is_kubectls_configuration(monkeypatch, tmp_path):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    with pytest.raises(ForbiddenError, match="kubeconfig of kubectl: "):
        HttpApi.load()
