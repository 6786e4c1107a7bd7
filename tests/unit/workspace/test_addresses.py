"""What the guard lets through, and where it leads."""

import asyncio
from ipaddress import ip_address

import pytest

from roost.core.errors import AddressRefused
from roost.workspace import addresses
from roost.workspace.addresses import Guard, Spot, is_own, is_public, look_up, read_url, usual
from tests.network import PUBLIC, PUBLIC_6, PUBLIC_TOO, Network
from tests.ports import full, held, number

FOREVER = 20.0
"""Longer than anything here takes; a wait that long has failed."""


@pytest.mark.parametrize(
    "address", [PUBLIC, PUBLIC_6, "8.8.8.8", "100.63.255.255", "2a00:1450::1", "64:ff9b::808:808"]
)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(ip_address(address))


async def test_a_name_leads_to_all_of_its_addresses_in_order() -> None:
    network = Network()
    network.name("example.com", [PUBLIC_6, PUBLIC])
    network.put(PUBLIC, 1001)
    network.put(PUBLIC_6, 1002)
    spots = await network.guard.spots("Example.COM.", 443)
    assert spots == [Spot("127.0.0.1", 1002), Spot("127.0.0.1", 1001)]
    assert network.lookups == ["example.com"]
    assert network.dialled == [Spot(PUBLIC_6, 443), Spot(PUBLIC, 443)]


async def test_an_address_is_not_looked_up() -> None:
    network = Network()
    network.put(PUBLIC, 1001)
    assert await network.guard.spots(PUBLIC, 80) == [Spot("127.0.0.1", 1001)]
    assert network.lookups == []


async def test_nobody_reaches_this_machine_by_its_public_address() -> None:
    own = Guard(dial=lambda spot: spot, own=lambda address: str(address) == PUBLIC)
    assert await own.spots(PUBLIC_TOO, 80)
    with pytest.raises(AddressRefused, match="not a public address"):
        await own.spots(PUBLIC, 80)


def test_a_machine_knows_its_own_addresses() -> None:
    assert is_own(ip_address("127.0.0.1"))
    assert not is_own(ip_address(PUBLIC))


async def test_names_are_looked_up_by_the_system() -> None:
    assert "127.0.0.1" in await look_up("127.0.0.1")


@pytest.mark.parametrize("port", [80, 443, 1024, 8080, 8443, 65535])
async def test_ports_of_the_web(port: int) -> None:
    network = Network()
    network.put(PUBLIC, 1001)
    assert await network.guard.spots(PUBLIC, port)


@pytest.mark.parametrize("port", [1, 22, 25, 53, 445, 3306, 5432, 6379, 6667, 11211])
async def test_ports_of_other_services(port: int) -> None:
    network = Network()
    with pytest.raises(AddressRefused, match=f"port {port} is not for the web"):
        await network.guard.spots(PUBLIC, port)
    assert network.dialled == []


async def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(AddressRefused, match="there is no such host"):
        await Network().guard.spots("nowhere.example", 80)


@pytest.mark.parametrize(
    "name", ["localhost", "a.localhost", "metadata.google.internal", "134744072", "8.0x80808"]
)
async def test_what_can_only_be_local_or_is_a_number_is_not_even_looked_up(name: str) -> None:
    network = Network()
    network.name(name, [PUBLIC])
    with pytest.raises(AddressRefused):
        await network.guard.spots(name, 443)
    assert network.lookups == []


async def test_a_name_without_addresses_or_that_can_not_be_looked_up() -> None:
    network = Network()
    network.name("example.com", [])
    for guard, name in (network.guard, "example.com"), (Guard(), f"{'a' * 64}.example"):
        with pytest.raises(AddressRefused, match="there is no such host"):
            await guard.spots(name, 443)


async def test_the_next_address_is_tried_if_one_does_not_answer() -> None:
    network = Network()
    network.name("example.com", [PUBLIC, PUBLIC_TOO])
    with held() as nobody:
        network.put(PUBLIC, number(nobody))
        network.put(PUBLIC_TOO, number(nobody))
        with pytest.raises(ConnectionRefusedError):
            await network.guard.connect("example.com", 80)


async def test_host_that_lets_nobody_in_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "CONNECT_SECONDS", 0.1)
    network = Network()
    with full() as port:
        network.put(PUBLIC, port)
        async with asyncio.timeout(FOREVER) as patience:
            with pytest.raises(TimeoutError):
                await network.guard.connect(PUBLIC, 80)
        assert not patience.expired()


async def test_lookup_that_does_not_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "LOOKUP_SECONDS", 0.1)

    async def resolve(_: str) -> list[str]:
        return await asyncio.get_running_loop().create_future()

    async with asyncio.timeout(FOREVER):
        with pytest.raises(AddressRefused, match="took too long"):
            await Guard(resolve=resolve).spots("example.com", 443)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("https://example.com/a?b=c#d", "https://example.com/a?b=c"),
        ("HTTPS://EXAMPLE.com:443/", "https://example.com/"),
        ("http://example.com.:80/a/../b", "http://example.com/b"),
        ("http://example.com:8080/", "http://example.com:8080/"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://[2606:2800::1]:80/", "http://[2606:2800::1]/"),
        ("file:///etc/passwd", "file:///etc/passwd"),
    ],
)
def test_one_spelling_of_an_address(written: str, read: str) -> None:
    assert usual(written) == read


def test_what_a_browser_would_read_as_another_path_is_refused() -> None:
    with pytest.raises(AddressRefused, match="backslashes"):
        read_url("https://example.com/open\\..\\closed")
    assert read_url("https://example.com/find?words=a\\b").path == "/find"


async def test_public_address_on_a_network_of_ones_choice_is_refused() -> None:
    network = Network()
    with pytest.raises(AddressRefused, match="not a public address"):
        await network.guard.spots(f"{PUBLIC_6}%1", 443)
    assert network.dialled == []


@pytest.mark.parametrize("before", ["ada:secret", ":secret", "secret"])
def test_a_password_is_not_repeated(before: str) -> None:
    with pytest.raises(AddressRefused) as refused:
        read_url(f"https://{before}@example.com/")
    assert "secret" not in str(refused.value)
    assert "example.com" in str(refused.value)
