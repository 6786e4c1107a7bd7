"""What is left of a terminal's output once nobody looks at a screen."""

import pytest

from roost.workspace.plain import Plain


def plain(*pieces: bytes) -> str:
    found = Plain()
    return "".join([*[found.feed(piece) for piece in pieces], found.rest()])


@pytest.mark.parametrize(
    ("printed", "read"),
    [
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"10%\r50%\r100%\ndone", "100%\ndone"),
        (b"100%\r", "100%"),
        (b"\x1b[1;31mred\x1b[0m \x1b[2Kplain", "red plain"),
        (b"\x1b]0;title\x07text \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "text link"),
        (b"\x1bP1$r\x1b\\after \x1b(Bcharset \x1b7\x1b8", "after charset "),
        (b"passwore\bd", "password"),
        (b"\b\bx", "x"),
        (b"bell\x07 null\x00 form\x0c", "bell null form"),
        (b"caf\xc3\xa9 \xff\xfe", "caf\u00e9 \ufffd\ufffd"),
        (b"\xe2\x80\xaegnp.exe", "gnp.exe"),
        (b"\xc2\x9b31mC1", "31mC1"),
        (b"tab\there", "tab\there"),
        (b"\x1b[", ""),
        (b"text \x1b]0;a title that does not end", "text 0;a title that does not end"),
    ],
)
def test_text_is_what_a_person_would_have_read(printed: bytes, read: str) -> None:
    assert plain(printed) == read


@pytest.mark.parametrize(
    "printed",
    [
        b"caf\xc3\xa9 \x1b[31mred\x1b[0m\r\nnext \x1b]0;a title\x07line\r10%\r20%\nend",
        b"\x1b]0;never ended, " + b"x" * 200 + b"\nvisible",
    ],
)
def test_it_does_not_matter_where_the_pieces_end(printed: bytes) -> None:
    whole = plain(printed)
    single = plain(*[bytes([byte]) for byte in printed])
    assert single == whole
    for at in range(len(printed)):
        assert plain(printed[:at], printed[at:]) == whole


def test_escape_that_never_ends_hides_no_more_than_its_length() -> None:
    swallowed = plain(b"\x1b]0;" + b"x" * 20_000 + b"\nthe rest")
    assert swallowed.endswith("\nthe rest")
    assert len(swallowed) > 15_000


def test_escape_that_never_ends_is_not_kept_for_ever() -> None:
    found = Plain()
    pieces = [found.feed(piece) for piece in (b"\x1b]0;", *[b"x" * 1000] * 30)]
    assert len("".join(pieces)) > 15_000


def test_line_without_an_end_is_passed_on_and_goes_on() -> None:
    found = Plain()
    assert found.feed(b"x" * 20_000) == "x" * 20_000
    assert found.feed(b"y\n") == "y\n"


def test_what_was_taken_early_is_not_written_over_but_followed() -> None:
    found = Plain()
    assert found.feed(b"10%") == ""
    assert found.rest() == "10%"
    assert found.feed(b"\r20%\n") == "\n20%\n"
    found.feed(b"name: ")
    assert found.rest() == "name: "
    assert found.feed(b"Ada\n") == "Ada\n"
