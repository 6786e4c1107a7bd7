"""Pages fetched from servers of the test's own."""

import gzip
import ssl
import zlib
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from roost.tools.base import ToolError
from roost.tools.download import Downloads
from tests.network import PUBLIC, PUBLIC_TOO, Network, Site, served
from tests.ports import held, number


@pytest.fixture
async def site() -> Site:
    return Site()


@pytest.fixture
async def network(site: Site) -> AsyncGenerator[Network]:
    network = Network()
    network.name("example.com", [PUBLIC])
    async with served(site) as port:
        network.put(PUBLIC, port)
        yield network


async def test_a_page(network: Network, site: Site) -> None:
    site.page("/a", "grün", "text/plain; charset=utf-8")
    got = await Downloads(network.guard).get("http://example.com/a?b=1#c")
    assert (got.url, got.status, got.kind, got.charset) == (
        "http://example.com/a?b=1#c",
        200,
        "text/plain",
        "utf-8",
    )
    assert got.body.decode() == "grün"
    assert site.hosts == ["example.com"]


async def test_the_port_is_part_of_the_host(network: Network, site: Site) -> None:
    site.page("/", "")
    await Downloads(network.guard).get("http://example.com:8080/")
    assert site.hosts == ["example.com:8080"]


async def test_redirects_are_followed(network: Network, site: Site) -> None:
    site.redirect("/a", "b", 301)
    site.redirect("/b", "http://example.com/c", 307)
    site.page("/c", "there")
    got = await Downloads(network.guard).get("http://example.com/a")
    assert (got.url, got.body) == ("http://example.com/c", b"there")
    assert network.lookups == ["example.com"] * 3


async def test_another_address_of_the_name_is_tried(network: Network, site: Site) -> None:
    site.page("/", "there")
    network.name("example.com", [PUBLIC_TOO, PUBLIC])
    with held() as nobody:
        network.put(PUBLIC_TOO, number(nobody))
        assert (await Downloads(network.guard).get("http://example.com/")).body == b"there"


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_compressed_pages(network: Network, site: Site, encoding: str) -> None:
    packed = gzip.compress(b"there") if encoding == "gzip" else zlib.compress(b"there")
    site.page("/", packed, Content_Encoding=encoding)
    assert (await Downloads(network.guard).get("http://example.com/")).body == b"there"


async def test_what_is_not_compressed_as_it_says(network: Network, site: Site) -> None:
    site.page("/", b"there", Content_Encoding="gzip")
    with pytest.raises(ToolError, match="can't be decompressed"):
        await Downloads(network.guard).get("http://example.com/")
    site.page("/", b"there", Content_Encoding="br")
    with pytest.raises(ToolError, match="not asked for"):
        await Downloads(network.guard).get("http://example.com/")


async def test_no_cookie_is_kept(network: Network, site: Site) -> None:
    seen: list[str | None] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Cookie"))
        return web.Response(status=302, headers={"Location": "/b", "Set-Cookie": "a=b"})

    site.pages["/a"] = answer
    site.pages["/b"] = answer
    with pytest.raises(ToolError, match="redirected more than 5 times"):
        await Downloads(network.guard).get("http://example.com/a")
    assert seen == [None] * 6


async def test_what_nobody_answers(network: Network) -> None:
    with held() as nobody:
        network.put(PUBLIC, number(nobody))
        with pytest.raises(ToolError, match="can't be fetched") as failed:
            await Downloads(network.guard).get("http://example.com/")
    assert "127.0.0.1" not in str(failed.value)


class Authority:
    """Signs a certificate for one name."""

    def __init__(self, folder: Path, name: str) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        signed = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .sign(key, hashes.SHA256())
        )
        self.file = folder / "certificate.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        self.file.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))

    def server(self) -> ssl.SSLContext:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(self.file)
        return tls

    def client(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.file))


async def test_certificates_are_checked_against_the_name(site: Site, tmp_path: Path) -> None:
    authority = Authority(tmp_path, "example.com")
    site.page("/", "there")
    network = Network()
    network.name("example.com", [PUBLIC])
    network.name("other.example", [PUBLIC])
    downloads = Downloads(network.guard, tls=authority.client())
    async with served(site, tls=authority.server()) as port:
        network.put(PUBLIC, port)
        assert (await downloads.get("https://example.com/")).body == b"there"
        with pytest.raises(ToolError, match="no valid certificate for its name"):
            await downloads.get("https://other.example/")
        with pytest.raises(ToolError, match="no valid certificate for its name"):
            await Downloads(network.guard).get("https://example.com/")
    assert site.asked == ["/"]
