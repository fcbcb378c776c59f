"""The keys in a Secret, which all replicas share: the first to write wins, the others read again."""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from fairgate_scheduler.adapters.kube.api import Api, ConflictError, Manifest, NotFoundError
from fairgate_scheduler.adapters.kube.api.kinds import SECRET, VALIDATING_WEBHOOKS
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text

from fairgate_admission.certificates.authority import Pair, split
from fairgate_admission.certificates.rotation import Keys, next_keys

AUTHORITIES: Final = "ca.crt"
AUTHORITY_KEY: Final = "ca.key"
LEAF: Final = "tls.crt"
LEAF_KEY: Final = "tls.key"


@dataclass(frozen=True, slots=True)
class Place:
    """Where keys are kept and published. ``names``: those that the certificate is for; the first one is asked for."""

    namespace: str
    secret: str
    webhooks: str
    names: Sequence[str]


def keep_keys(api: Api, place: Place, now: Callable[[], datetime]) -> Keys:
    """One step of rotation: read, write what is due, publish the authorities; the keys to serve.

    Raises:
        ApiError: the cluster can not be asked, or another replica was faster: call again.
    """
    secret = _find(api, place)
    before = None if secret is None else _read(secret)
    hooks = _webhooks(api, place)
    keys = next_keys(before, _published(hooks), place.names, now())
    if keys != before:
        _write(api, place, secret, keys)
    if hooks is not None:
        _publish(api, place, hooks, keys)
    return keys


def bundle_of(api: Api, webhooks: str) -> str:
    """The authorities that the API server trusts for every one of our webhooks; "" if there are none.

    Raises:
        ApiError: the cluster can not be asked.
    """
    try:
        hooks = api.get(VALIDATING_WEBHOOKS, webhooks)
    except NotFoundError:
        return ""
    bundles = {_bundle(each) for each in get_list(hooks, "webhooks")}
    return bundles.pop() if len(bundles) == 1 else ""


def _find(api: Api, place: Place) -> Manifest | None:
    try:
        return api.get(SECRET, place.secret, place.namespace)
    except NotFoundError:
        return None


def _webhooks(api: Api, place: Place) -> Manifest | None:
    try:
        return api.get(VALIDATING_WEBHOOKS, place.webhooks)
    except NotFoundError:
        return None


def _read(secret: Manifest) -> Keys | None:
    """``None``: what is there are no keys of ours; then they are made anew."""
    data = get_map(secret, "data")
    try:
        text = {key: base64.b64decode(str(value), validate=True).decode() for key, value in data.items()}
        first, *others = split(text[AUTHORITIES])
        keys = Keys(
            (Pair(first, text[AUTHORITY_KEY]), *map(Pair, others)),
            Pair(text[LEAF], text[LEAF_KEY]),
        )
        _ = keys.leaf.fingerprint
    except (KeyError, ValueError, binascii.Error, UnicodeDecodeError):
        return None
    return keys


def _write(api: Api, place: Place, secret: Manifest | None, keys: Keys) -> None:
    files = {
        AUTHORITIES: keys.bundle,
        AUTHORITY_KEY: keys.authorities[0].key,
        LEAF: keys.leaf.certificate,
        LEAF_KEY: keys.leaf.key,
    }
    data = {key: base64.b64encode(text.encode()).decode() for key, text in files.items()}
    if secret is None:
        metadata = {"name": place.secret, "namespace": place.namespace}
        api.create(SECRET, {"metadata": metadata, "type": "Opaque", "data": data})
        return
    version = {"resourceVersion": secret["metadata"]["resourceVersion"]}
    api.patch(SECRET, place.secret, {"metadata": version, "data": data}, place.namespace)


def _published(hooks: Manifest | None) -> frozenset[str]:
    """Only what every one of the webhooks trusts."""
    found = []
    for each in get_list(hooks, "webhooks"):
        try:
            found.append(frozenset(Pair(pem).fingerprint for pem in split(_bundle(each))))
        except ValueError:
            return frozenset()
    return frozenset.intersection(*found) if found else frozenset()


def _publish(api: Api, place: Place, hooks: Manifest, keys: Keys) -> None:
    if all(_bundle(each) == keys.bundle for each in get_list(hooks, "webhooks")):
        return
    encoded = base64.b64encode(keys.bundle.encode()).decode()
    trusted = [_trusting(each, encoded) for each in get_list(hooks, "webhooks")]
    version = {"resourceVersion": hooks["metadata"]["resourceVersion"]}
    try:
        api.patch(VALIDATING_WEBHOOKS, place.webhooks, {"metadata": version, "webhooks": trusted})
    except ConflictError:
        return  # whoever was faster has published it, or the next step does


def _trusting(webhook: dict[str, Any], bundle: str) -> dict[str, Any]:
    return {**webhook, "clientConfig": {**get_map(webhook, "clientConfig"), "caBundle": bundle}}


def _bundle(webhook: Any) -> str:
    try:
        return base64.b64decode(get_text(get_map(webhook, "clientConfig"), "caBundle")).decode()
    except (ValueError, binascii.Error):
        return ""
