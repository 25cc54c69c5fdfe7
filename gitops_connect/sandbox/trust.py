"""Writes the certificates that Python trusts as a Java trust store.

A Java in a wheel does not know a CA that an organisation added to its machines, so a download through its proxy fails
although pip and git succeed. The store is a JKS file, whose layout (`sun.security.provider.JavaKeyStore`) is simple
enough to write without keytool, which a runtime may lack.
"""

from __future__ import annotations

import hashlib
import ssl
import struct
from pathlib import Path

PASSWORD = "changeit"  # noqa: S105 - Java's own default; it protects only the file's integrity

_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian and its derivatives
    "/etc/pki/tls/certs/ca-bundle.crt",  # Red Hat and its derivatives
    "/etc/ssl/cert.pem",  # macOS, Alpine, BSD
)
_MAGIC, _VERSION, _TRUSTED = 0xFEEDFEED, 2, 2


def write_trust_store(file: Path) -> tuple[str, ...]:
    """Write the store and return Java's options for it; none if no certificate was found."""
    certificates = _system_certificates()
    if not certificates:
        return ()
    file.write_bytes(encode(certificates))
    return (
        f"-Djavax.net.ssl.trustStore={file}",
        "-Djavax.net.ssl.trustStoreType=JKS",
        f"-Djavax.net.ssl.trustStorePassword={PASSWORD}",
    )


def _system_certificates() -> list[bytes]:
    """The certificates in DER. OpenSSL's default honours SSL_CERT_FILE; a directory is not listed until it is used."""
    context = ssl.create_default_context()
    if not context.get_ca_certs():
        for bundle in filter(Path.exists, map(Path, _BUNDLES)):
            context.load_verify_locations(cafile=bundle)
    return context.get_ca_certs(binary_form=True)


def encode(certificates: list[bytes]) -> bytes:
    """A JKS key store of trusted certificates, numbered, without dates."""
    body = struct.pack(">III", _MAGIC, _VERSION, len(certificates))
    for number, certificate in enumerate(certificates):
        body += struct.pack(">I", _TRUSTED) + _utf(str(number)) + struct.pack(">Q", 0)
        body += _utf("X.509") + struct.pack(">I", len(certificate)) + certificate
    seal = PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body
    return body + hashlib.sha1(seal, usedforsecurity=False).digest()


def _utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode("ascii")
