"""What the network says of a connection, in words."""

import errno
import socket
import ssl

import pytest

from roost.store.postgres.connect import explain


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (socket.gaierror(-2, "Name or service not known"), "its host can't be found"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed"), "connection refused"),
        (ssl.SSLError(1, "wrong version number"), "wrong version number"),
        (ConnectionError("unexpected connection_lost() call"), "unexpected connection_lost() call"),
    ],
)
def test_network_error_has_no_number(error: OSError, words: str) -> None:
    said = str(explain(error, "heron on nest"))
    assert f"could not be read or written: {words}. " in said.replace("[SSL] ", "")
