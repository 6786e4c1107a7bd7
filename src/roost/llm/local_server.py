"""The child process that holds the built-in model: llama.cpp's server, on loopback, for its parent.

It reads its orders as one line of JSON, answers with its address, and goes when its standard input
ends: a parent that is killed takes it along, whatever the system.
"""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import msgspec


class Orders(msgspec.Struct, frozen=True):
    model: str
    key: str
    threads: int
    context: int
    slots: int


def start(orders: Orders) -> tuple[object, str]:
    """The server, which lives as long as it is held, and its address. The context and the cache
    bound its memory: what is left is the model itself."""
    xllamacpp: Any = importlib.import_module("xllamacpp")  # it comes without types
    params = xllamacpp.CommonParams()
    params.model.path = orders.model
    params.model_alias = {Path(orders.model).stem}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [orders.key]
    params.verbosity = 1
    params.ui = False
    params.endpoint_slots = False
    params.n_ctx = orders.context * orders.slots
    params.n_parallel = orders.slots
    params.cpuparams.n_threads = orders.threads
    params.cache_ram_mib = 0
    # So small a model runs in circles if it is let.
    params.sampling.temp = 0.2
    params.sampling.top_k = 40
    params.sampling.penalty_repeat = 1.2
    params.sampling.penalty_last_n = 128
    server = xllamacpp.Server(params)
    return server, str(server.listening_address)


def main() -> None:
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=Orders)
    held = start(orders)
    sys.stdout.write(f"{held[1]}\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
    # At once: the server's threads do not end by themselves.
    os._exit(0)


if __name__ == "__main__":
    main()
