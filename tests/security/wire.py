"""HTTP by hand: requests as bytes, and what is answered to them."""


def status(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer[:100]
    return int(answer.split(b" ", 2)[1])


def get(*lines: str, target: str = "/healthz") -> bytes:
    head = [f"GET {target} HTTP/1.1", *lines, "Connection: close", "", ""]
    return "\r\n".join(head).encode("latin-1")
