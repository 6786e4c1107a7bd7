"""Bytes as text."""

import pytest

from roost.tools.charset import decode


@pytest.mark.parametrize(
    ("body", "told", "text"),
    [
        ("grün".encode(), None, "grün"),
        ("grün".encode("latin-1"), None, "grün"),
        ("grün".encode("latin-1"), "iso-8859-1", "grün"),
        (b"\x80", "ascii", "€"),
        ("鳥".encode("shift_jis"), "Shift_JIS", "鳥"),
        ("\ufeffgrün".encode(), "latin-1", "grün"),
        ("grün".encode("utf-16"), None, "grün"),
        ("grün".encode()[:3], None, "gr"),
        ("grün".encode(), "no-such-charset", "grün"),
        ("grün".encode(), "punycode", "grün"),
        ("grün".encode(), "zlib", "grün"),
        (b"\xff\xfea\0\xff", None, "a\ufffd"),
    ],
)
def test_what_bytes_say(body: bytes, told: str | None, text: str) -> None:
    assert decode(body, told) == text


def test_a_page_that_names_its_charset() -> None:
    html = '<meta http-equiv=Content-Type content="text/html; charset=windows-1251">птица'
    assert decode(html.encode("cp1251"), None) == html
