"""`roost run`: the server, from the first line it prints to its clean stop."""

import asyncio
import signal
from collections.abc import Mapping

import uvloop
from rich.console import Console

from roost import __version__
from roost.cli import terminal
from roost.cli.user import sign_in_url
from roost.client.place import left_in
from roost.core.config import Config
from roost.core.keys import Key
from roost.http.server import address, bind, fingerprint, serve, tls_of
from roost.wiring import running


def run_server(
    config: Config, keys: Mapping[str, Key], environ: Mapping[str, str], out: Console
) -> None:
    uvloop.run(_run(config, keys, environ, out))


async def _run(
    config: Config, keys: Mapping[str, Key], environ: Mapping[str, str], out: Console
) -> None:
    stop = asyncio.Event()
    set_on_signal(stop)
    # The store comes before the port: of two servers on one data folder, the second learns who
    # the first is rather than only that a port is taken.
    async with (
        running(config, keys, environ, channels={}) as roost,
        roost.draining(stop),
    ):
        with bind(config.server.host, config.server.port) as listener:
            tls = tls_of(config.server)
            where = address(listener, scheme="http" if tls is None else "https")
            await roost.app.found_at(where)
            link = await roost.identities.first_link()
            left = left_in(
                config.data,
                roost.identities.local_token(),
                certificate=None if tls is None else fingerprint(tls),
            )

            def ready() -> None:
                roost.store.announce(where)
                _greet(config, where, link, out)

            # Before anybody is told where to go: who finds the address finds the credential.
            with left:
                await serve(
                    roost.web(stop),
                    listener,
                    ready=ready,
                    stop=stop,
                    log_requests=config.log.level == "debug",
                    tls=tls,
                )
    out.print("Stopped.")
    terminal.leave_if_stuck()


def _greet(config: Config, where: str, link: Key | None, out: Console) -> None:
    out.print(f"Roost {__version__}")
    out.print(f"  Address  {where}")
    out.print(f"  Data     {config.data}")
    if config.store is not None:
        out.print(f"  Store    {config.store}")
    if link is not None:
        out.print(f"  Sign in  {sign_in_url(where, link)}")
    out.print("Stop with Ctrl-C.")


def set_on_signal(stop: asyncio.Event) -> None:
    """The first signal asks for a clean stop; the second takes its default action, at once."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def received() -> None:
        stop.set()
        for number in signals:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)

    for number in signals:
        loop.add_signal_handler(number, received)
