"""Certificates rotate without an instant in which the API server does not trust what is served."""

import base64
import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta

import pytest
from fairgate_admission.certificates.authority import LEAF_LIFE, Pair, is_issued_by, issue, names_of, new_authority
from fairgate_admission.certificates.rotation import SETTLE, next_keys
from fairgate_admission.certificates.secret import Place, bundle_of, keep_keys
from fairgate_admission.certificates.serving import FolderSource, SecretSource, Serving
from fairgate_admission.installing.names import WEBHOOKS
from fairgate_admission.installing.webhook import webhooks
from fairgate_scheduler.adapters.kube.api import ConflictError
from fairgate_scheduler.adapters.kube.api.kinds import NAMESPACE, SECRET, VALIDATING_WEBHOOKS
from fairgate_scheduler.testing.fake_api import FakeApi

NAMES = ("localhost",)
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def fingerprints(keys):
    return {each.fingerprint for each in keys.authorities}


def test_a_first_authority_issues_for_all_names_and_nothing_changes_for_a_while():
    names = ("gate.svc", "127.0.0.1")
    keys = next_keys(None, set(), names, NOW)
    assert names_of(keys.leaf) == {"gate.svc", "127.0.0.1"}
    assert is_issued_by(keys.leaf, keys.authorities[0])
    for days in (0, 10, 59):
        assert next_keys(keys, fingerprints(keys), names, NOW + timedelta(days=days)) == keys


def test_a_year_of_rotation_never_serves_what_is_not_trusted():
    """Steps twice a day for three years, in which publishing takes a step; trusted is what was published before."""
    keys = next_keys(None, set(), NAMES, NOW)
    published, leaves, authorities = fingerprints(keys), set(), set()
    for step in range(3 * 365 * 2):
        at = NOW + timedelta(hours=12 * step)
        keys = next_keys(keys, published, NAMES, at)
        issuer = [each for each in keys.authorities if is_issued_by(keys.leaf, each)]
        assert len(issuer) == 1, "it was issued by one that is still to be trusted"
        assert issuer[0].fingerprint in published, "the API server knows its issuer"
        assert keys.leaf.x509.not_valid_after_utc > at
        assert issuer[0].x509.not_valid_after_utc > at
        assert len(keys.authorities) <= 2
        published = fingerprints(keys)
        leaves.add(keys.leaf.fingerprint)
        authorities |= published
    assert len(leaves) > 15
    assert 4 <= len(authorities) <= 6


def test_an_old_authority_is_trusted_until_nobody_serves_it():
    keys = next_keys(None, set(), NAMES, NOW)
    at = NOW + timedelta(days=300)
    both = next_keys(keys, fingerprints(keys), NAMES, at)
    assert len(both.authorities) == 2
    assert both.leaf == keys.leaf
    assert next_keys(both, fingerprints(keys), NAMES, at) == both, "not before the new one is published"
    switched = next_keys(both, fingerprints(both), NAMES, at)
    assert is_issued_by(switched.leaf, both.authorities[0])
    assert switched.authorities == both.authorities
    assert next_keys(switched, fingerprints(both), NAMES, at + SETTLE / 2) == switched
    assert len(next_keys(switched, fingerprints(both), NAMES, at + SETTLE * 2).authorities) == 1


def test_what_was_off_for_years_comes_back_by_itself():
    keys, published, at = next_keys(None, set(), NAMES, NOW), set(), NOW + timedelta(days=2_000)
    for _ in range(3):
        keys = next_keys(keys, published, NAMES, at)
        published = fingerprints(keys)
    assert keys.leaf.x509.not_valid_after_utc > at
    assert published == {keys.authorities[0].fingerprint}


def test_another_name_gets_another_certificate():
    keys = next_keys(None, set(), NAMES, NOW)
    assert names_of(next_keys(keys, fingerprints(keys), ("else",), NOW).leaf) == {"else"}


def test_no_certificate_outlives_its_authority():
    authority = new_authority(NOW)
    leaf = issue(authority, NAMES, authority.x509.not_valid_after_utc - timedelta(days=1))
    assert leaf.x509.not_valid_after_utc == authority.x509.not_valid_after_utc
    assert timedelta(days=365) / 3 > LEAF_LIFE, "a leaf is renewed before its authority ages"


@pytest.fixture
def api():
    found = FakeApi()
    found.create(NAMESPACE, {"metadata": {"name": "fairgate-system"}})
    found.create(VALIDATING_WEBHOOKS, webhooks("fairgate-system"))
    return found


PLACE = Place("fairgate-system", "tls", WEBHOOKS, NAMES)


def now():
    return datetime.now(UTC)


def test_replicas_share_one_secret_and_publish_what_is_in_it(api):
    first = keep_keys(api, PLACE, now)
    assert keep_keys(api, PLACE, now) == first
    assert bundle_of(api, WEBHOOKS) == first.bundle
    written = [call for call in api.calls if call[0] in ("create", "patch") and call[1] == "secrets"]
    assert len(written) == 1


def test_a_replica_that_was_overtaken_writes_nothing(api):
    api.faults.fail("create", "secrets", error=ConflictError("exists"))
    with pytest.raises(ConflictError):
        keep_keys(api, PLACE, now)
    assert bundle_of(api, WEBHOOKS) == ""


@pytest.mark.parametrize("damage", [{"ca.crt": "AAAA"}, {"tls.crt": "%%%"}, {"ca.key": None}, {"ca.crt": None}])
def test_a_secret_that_was_damaged_is_made_anew(api, damage):
    before = keep_keys(api, PLACE, now)
    api.patch(SECRET, "tls", {"data": damage}, "fairgate-system")
    after = keep_keys(api, PLACE, now)
    assert after.leaf != before.leaf
    assert bundle_of(api, WEBHOOKS) == after.bundle


def test_a_bundle_that_somebody_changed_is_published_again(api):
    keys = keep_keys(api, PLACE, now)
    hooks = [{**each, "clientConfig": {"url": "https://x", "caBundle": ""}} for each in webhooks("x")["webhooks"]]
    api.patch(VALIDATING_WEBHOOKS, WEBHOOKS, {"webhooks": hooks})
    assert bundle_of(api, WEBHOOKS) == ""
    keep_keys(api, PLACE, now)
    assert bundle_of(api, WEBHOOKS) == keys.bundle


class Listener:
    """TLS on a socket, with a context that changes."""

    def __init__(self, context):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.context = context
        threading.Thread(target=self.run, daemon=True).start()

    @property
    def address(self):
        return self.socket.getsockname()

    def run(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            try:
                self.context.wrap_socket(connection, server_side=True).close()
            except OSError:
                connection.close()


def test_it_is_ready_only_while_what_is_served_is_trusted(api):
    serving = Serving(SecretSource(api, PLACE), api, WEBHOOKS, "localhost")
    assert serving.trouble == "has no certificate yet"
    serving.step(None)
    listener = Listener(serving.context)
    serving.step(listener.address)
    assert serving.trouble == ""
    api.delete(VALIDATING_WEBHOOKS, WEBHOOKS)
    serving.step(listener.address)
    assert "is not there" in serving.trouble
    api.create(VALIDATING_WEBHOOKS, webhooks("fairgate-system"))
    serving.step(listener.address)
    assert serving.trouble == "", "it was published again"
    api.faults.is_down = True
    serving.step(listener.address)
    assert "can not read the webhook configuration" in serving.trouble
    api.faults.is_down = False
    api.delete(SECRET, "tls", "fairgate-system")
    serving.step(listener.address)
    assert serving.trouble == "", "a new one was made, published, and is served"
    listener.socket.close()


def test_files_of_somebody_else_are_read_again_when_they_change(api, tmp_path):
    keys, others = (next_keys(None, set(), NAMES, now()) for _ in range(2))
    serving = Serving(FolderSource(tmp_path), api, WEBHOOKS, "localhost")
    serving.step(None)
    assert "has no certificate" in serving.trouble
    write(tmp_path, keys.leaf)
    publish(api, keys.bundle)
    serving.step(None)
    listener = Listener(serving.context)
    serving.step(listener.address)
    assert serving.trouble == ""
    publish(api, others.bundle)
    serving.step(listener.address)
    assert "serves what the API server does not trust" in serving.trouble
    write(tmp_path, others.leaf)
    serving.step(listener.address)
    assert serving.trouble == ""
    write(tmp_path, Pair("torn", ""))
    serving.step(listener.address)
    assert serving.trouble == "", "what was served before is served on"
    listener.socket.close()


def write(folder, pair):
    (folder / "tls.crt").write_text(pair.certificate)
    (folder / "tls.key").write_text(pair.key)


def publish(api, bundle):
    encoded = base64.b64encode(bundle.encode()).decode()
    hooks = [{**each, "clientConfig": {"caBundle": encoded}} for each in webhooks("x")["webhooks"]]
    api.patch(VALIDATING_WEBHOOKS, WEBHOOKS, {"webhooks": hooks})


def test_an_api_server_that_is_down_at_the_start_is_no_end(api):
    api.faults.is_down = True
    serving = Serving(SecretSource(api, PLACE), api, WEBHOOKS, "localhost")
    serving.step(None)
    assert "has no certificate: connection refused" in serving.trouble
    api.faults.is_down = False
    serving.step(None)
    assert serving.trouble == ""
    assert serving.context.minimum_version == ssl.TLSVersion.TLSv1_2
