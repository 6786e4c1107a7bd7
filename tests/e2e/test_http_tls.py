"""Roost with a certificate of its own."""

import datetime
import ipaddress
import ssl
from pathlib import Path

import aiohttp
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.e2e.command import Roost


def certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "roost")])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    cert, secret = folder / "cert.pem", folder / "key.pem"
    cert.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return cert, secret


async def test_with_tls_the_cookie_is_secure(roost: Roost, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    roost.environ |= {"ROOST_SERVER_TLS_CERT": str(cert), "ROOST_SERVER_TLS_KEY": str(key)}
    async with roost.running() as server, aiohttp.ClientSession() as connections:
        assert server.address.startswith("https://")
        trusted = ssl.create_default_context(cafile=cert)
        secret = server.greeting.partition("#")[2].split()[0]
        url = f"{server.address}/api/sign-in"
        async with connections.post(url, json={"secret": secret}, ssl=trusted) as answer:
            assert answer.status == 204
            cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-roost=")
    assert "; Secure" in cookie
    assert "Domain" not in cookie


async def test_certificate_that_can_not_be_used_is_named(roost: Roost, tmp_path: Path) -> None:
    cert, _ = certificate(tmp_path)
    roost.environ["ROOST_SERVER_TLS_CERT"] = str(cert)
    refused = await roost("run", "--port", "0")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == "TLS needs both server.tls_cert and server.tls_key.\n"
    roost.environ["ROOST_SERVER_TLS_KEY"] = str(tmp_path / "nowhere.pem")
    refused = await roost("run", "--port", "0")
    assert (refused.code, refused.out) == (2, "")
    assert "server.tls_key can't be used: No such file or directory" in refused.err
