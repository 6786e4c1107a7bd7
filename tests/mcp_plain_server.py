"""A server of tools as the protocol was in its first years, in nothing but Python: quick to start,
and as ill-behaved as it is told to be."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

BEHAVIOUR = set(sys.argv[1:])

TOOLS: list[dict[str, Any]] = [
    {"name": "echo", "description": "Say it again.", "inputSchema": {"type": "object"}},
    {"name": "die", "inputSchema": {"type": "object", "properties": {}}},
    {"name": "silence", "inputSchema": {"type": "object", "properties": {}}},
    {"name": "pid", "inputSchema": {"type": "object", "properties": {}}},
    {"name": "list", "inputSchema": {"type": "array"}},
    {"name": "large", "inputSchema": {"type": "object", "description": "x" * 20_000}},
    {"name": "odd name/" + "x" * 80, "inputSchema": {"type": "object"}},
]


def write(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def answer(id: object, result: object) -> None:
    write(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}))


def refuse(id: object, message: str) -> None:
    error = {"code": -32000, "message": message}
    write(json.dumps({"jsonrpc": "2.0", "id": id, "error": error}))


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def call(id: object, name: str, arguments: dict[str, Any]) -> None:
    if name == "die":
        os._exit(1)
    elif name == "pid":
        answer(id, text(str(os.getpid())))
    elif name == "echo":
        answer(id, text(json.dumps(arguments)))
    elif name == "silence" and "deaf" in BEHAVIOUR:
        time.sleep(1000)
    elif name != "silence":
        refuse(id, f"there is no {name}")


def page(cursor: str | None) -> dict[str, Any]:
    at = int(cursor or 0)
    more = {"nextCursor": str(at + 2)} if at + 2 < len(TOOLS) else {}
    return {"tools": TOOLS[at : at + 2], **more}


ABOUT: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "plain", "version": "1"},
}


def handle(message: dict[str, Any]) -> None:
    method, id = message["method"], message.get("id")
    params: dict[str, Any] = message.get("params") or {}
    if method == "initialize":
        answer(id, ABOUT)
    elif method == "tools/list":
        answer(id, page(params.get("cursor")))
    elif method == "tools/call":
        call(id, params["name"], params.get("arguments") or {})
    elif "strict" in BEHAVIOUR and not method.startswith("notifications/"):
        sys.exit(f"asked for {method} before anything else")
    elif id is not None:
        refuse(id, f"unknown method {method}")


def main() -> None:
    if "mute" in BEHAVIOUR:
        time.sleep(1000)
    if "noisy" in BEHAVIOUR:
        write("this is not JSON")
        for number in range(5000):
            sys.stderr.write(f"line {number} of {os.environ.get('TOKEN')}\n")
    if "parent" in BEHAVIOUR:
        child = subprocess.Popen(["/bin/sh", "-c", "trap '' TERM HUP; exec sleep 1000"])
        Path("child.pid").write_text(str(child.pid))
    for line in sys.stdin:
        handle(json.loads(line))
    if "stubborn" in BEHAVIOUR:
        time.sleep(1000)


if __name__ == "__main__":
    main()
