"""What bytes from the web say, in whichever way they were written."""

import codecs
import re

_KNOWN = re.compile(
    r"utf-?8|utf-?16(-[bl]e)?|ascii|iso8859-\d+|cp(125\d|866|874|932|949|950)|koi8-[rtu]|mac-\w+"
    r"|gb2312|gbk|gb18030|big5|big5hkscs|euc_(jp|kr)|shift_jis|iso2022_jp"
)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w:.-]{1,40})""", re.IGNORECASE)


def decode(body: bytes, told: str | None) -> str:
    """A byte order mark goes before what the server told, that before what the page says itself.
    Without any of them it is UTF-8, or else what the web was written in before that."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body.decode(name, "replace").removeprefix("\ufeff")
    meta = _META.search(body, 0, 2048)
    for name in (told, meta[1].decode("ascii") if meta else None):
        if name and (codec := _codec(name)):
            return body.decode(codec, "replace")
    try:
        # The last character may have been cut in two.
        return codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


def _codec(name: str) -> str | None:
    """A codec for text, by its usual name. Python knows others besides, some of which take forever
    or are no text at all."""
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    if not _KNOWN.fullmatch(found):
        return None
    # On the web these names always mean Windows' superset.
    return "cp1252" if found in ("ascii", "iso8859-1") else found
