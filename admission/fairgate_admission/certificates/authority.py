"""Authorities and the certificates that they issue, as PEM. Keys are on the curve P-256."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFE: Final = timedelta(days=365)
LEAF_LIFE: Final = timedelta(days=90)
_CLOCKS_DIFFER: Final = timedelta(minutes=5)
_ENCODING: Final = serialization.Encoding.PEM


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, as PEM. ``key`` "": it is not kept."""

    certificate: str
    key: str = ""

    @property
    def x509(self) -> x509.Certificate:
        """The certificate, read. Raises ValueError."""
        return x509.load_pem_x509_certificate(self.certificate.encode())

    @property
    def fingerprint(self) -> str:
        """Tells it from every other one."""
        return self.x509.fingerprint(hashes.SHA256()).hex()


def new_authority(now: datetime) -> Pair:
    """A new authority, unlike every earlier one."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"fairgate-gate {now:%Y-%m-%dT%H:%M:%SZ}")])
    usage = _usage(digital_signature=True, key_cert_sign=True, crl_sign=True)
    builder = (
        _builder(name, name, key.public_key(), now, AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
    )
    return Pair(_pem(builder.sign(key, hashes.SHA256())), _key_pem(key))


def issue(authority: Pair, names: Sequence[str], now: datetime) -> Pair:
    """A server's certificate for these names and addresses, no longer valid than its authority."""
    issuer = authority.x509
    signer = serialization.load_pem_private_key(authority.key.encode(), None)
    if not isinstance(signer, ec.EllipticCurvePrivateKey):
        raise ValueError("the authority's key is none of ours")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    life = min(LEAF_LIFE, issuer.not_valid_after_utc - now)
    builder = (
        _builder(subject, issuer.subject, key.public_key(), now, life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general(each) for each in names]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    return Pair(_pem(builder.sign(signer, hashes.SHA256())), _key_pem(key))


def is_issued_by(leaf: Pair, authority: Pair) -> bool:
    """Whether an authority has signed a certificate."""
    try:
        leaf.x509.verify_directly_issued_by(authority.x509)
    except Exception:  # noqa: BLE001 - a wrong signature has an error of its own, a wrong name a ValueError
        return False
    return True


def names_of(leaf: Pair) -> frozenset[str]:
    """The names and addresses that a certificate is for."""
    found = leaf.x509.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    dns = found.get_values_for_type(x509.DNSName)
    return frozenset([*dns, *(str(each) for each in found.get_values_for_type(x509.IPAddress))])


def is_aging(pair: Pair, now: datetime) -> bool:
    """Whether less than a third of its life is left."""
    found = pair.x509
    life = found.not_valid_after_utc - found.not_valid_before_utc
    return now > found.not_valid_after_utc - life / 3


def split(bundle: str) -> tuple[str, ...]:
    """The certificates of a bundle, one PEM each. Raises ValueError."""
    return tuple(_pem(each) for each in x509.load_pem_x509_certificates(bundle.encode())) if bundle.strip() else ()


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(_ENCODING).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    plain = serialization.NoEncryption()
    return key.private_bytes(_ENCODING, serialization.PrivateFormat.PKCS8, plain).decode()
