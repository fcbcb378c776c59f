"""When a new authority, when a new certificate: one step at a time, so that there is no instant without trust."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from fairgate_admission.certificates.authority import Pair, is_aging, is_issued_by, issue, names_of, new_authority

SETTLE: Final = timedelta(hours=1)
"""How long an old authority is still trusted when nobody should serve a certificate of it any more."""


@dataclass(frozen=True, slots=True)
class Keys:
    """What is kept: the authorities that are to be trusted, the newest first and with its key, and the certificate."""

    authorities: tuple[Pair, ...]
    leaf: Pair

    @property
    def bundle(self) -> str:
        """All authorities as the API server is told them."""
        return "".join(each.certificate for each in self.authorities)


def next_keys(keys: Keys | None, published: Set[str], names: Sequence[str], now: datetime) -> Keys:
    """What is to be kept now; the same if nothing is to be done.

    A certificate of a new authority is served only when the API server trusts it: ``published`` are the fingerprints
    of the authorities that it does.
    """
    if keys is None:
        authority = new_authority(now)
        return Keys((authority,), issue(authority, names, now))
    newest = keys.authorities[0]
    if is_aging(newest, now):
        alive = [Pair(each.certificate) for each in keys.authorities if now < each.x509.not_valid_after_utc]
        return Keys((new_authority(now), *alive), keys.leaf)
    is_its = is_issued_by(keys.leaf, newest)
    is_wrong = is_aging(keys.leaf, now) or names_of(keys.leaf) != frozenset(names)
    if (is_wrong or not is_its) and newest.fingerprint in published:
        return replace(keys, leaf=issue(newest, names, now))
    if is_its and len(keys.authorities) > 1 and now > keys.leaf.x509.not_valid_before_utc + SETTLE:
        return replace(keys, authorities=(newest,))
    return keys
