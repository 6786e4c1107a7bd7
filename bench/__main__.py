"""`python -m bench [part ...]`: measure, print a table, write bench/results/<part>.json."""

import signal
import sys
from collections.abc import Callable, Sequence

from rich.console import Console

from bench import channels, cluster, engine, models, server, store, web, workspaces
from bench.report import Figure, Part, save, show

PARTS: dict[str, Callable[[Callable[[str], None]], Sequence[Figure]]] = {
    "channels": channels.measure,
    "cluster": cluster.measure,
    "engine": engine.measure,
    "models": models.measure,
    "server": server.measure,
    "store": store.measure,
    "web": web.measure,
    "workspaces": workspaces.measure,
}
"""Each is told whom to tell what it is doing."""


def main(names: Sequence[str]) -> int:
    # Whoever ends it, ends the servers and the browser too, as with the keyboard.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console() if sys.stdout.isatty() else Console(width=160)
    if unknown := set(names) - set(PARTS):
        console.print(f"There is no part {', '.join(sorted(unknown))}. Parts: {', '.join(PARTS)}.")
        return 2
    for name in names or PARTS:
        with console.status(name) as status:
            figures = PARTS[name](lambda doing, name=name: status.update(f"{name}: {doing}"))
        part = Part(name, figures)
        show(part, console)
        console.print(f"Written to {save(part)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
