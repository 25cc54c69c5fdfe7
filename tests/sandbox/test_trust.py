import hashlib
import os
import ssl
import struct
import subprocess
from pathlib import Path

import pytest

from gitops_connect.sandbox.jars import encode, write_trust_store
from gitops_connect.sandbox.java import find_java


def test_a_store_is_sealed_and_holds_the_certificates() -> None:
    store = encode([b"first", b"second"])
    assert struct.unpack(">III", store[:12]) == (0xFEEDFEED, 2, 2)
    assert b"\x00\x00\x00\x06second" in store
    seal = hashlib.sha1("changeit".encode("utf-16-be") + b"Mighty Aphrodite" + store[:-20]).digest()  # noqa: S324 - JKS has it so
    assert store[-20:] == seal


def test_it_is_what_python_trusts(tmp_path: Path) -> None:
    options = write_trust_store(tmp_path / "trust.jks")
    trusted = ssl.create_default_context().get_ca_certs(binary_form=True)
    if not trusted and not options:
        pytest.skip("this machine has no certificates at all")
    store = (tmp_path / "trust.jks").read_bytes()
    assert all(certificate in store for certificate in trusted)
    assert f"-Djavax.net.ssl.trustStore={tmp_path / 'trust.jks'}" in options


@pytest.mark.slow
def test_java_reads_it(tmp_path: Path) -> None:
    keytool = find_java(os.environ).path.resolve().with_name("keytool")
    if not keytool.exists():
        pytest.skip("this Java has no keytool")
    write_trust_store(tmp_path / "trust.jks")
    command = [str(keytool), "-list", "-storepass", "changeit", "-keystore", str(tmp_path / "trust.jks")]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "trustedCertEntry" in listed.stdout
