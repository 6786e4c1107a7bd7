"""The words a script is written with; each makes a reply, and replies add up."""

from collections.abc import Mapping

from roost.testing.models.script import (
    Call,
    Cut,
    Echo,
    Fail,
    Finish,
    Pause,
    Problem,
    Raw,
    Refuse,
    Reply,
    Say,
    Stall,
    Think,
    Use,
)


def say(text: str, *, size: int | None = None, pace: float = 0) -> Reply:
    """Text, in words or in tokens of `size` characters (0: all at once), `pace` seconds apart."""
    return Reply((Say(text=text, size=size, pace=pace),))


def think(
    text: str,
    payload: str | None = None,
    *,
    redacted: bool = False,
    size: int | None = None,
    pace: float = 0,
) -> Reply:
    """Reasoning, with the signature or the encrypted content that the vendor wants back."""
    return Reply((Think(text=text, payload=payload, redacted=redacted, size=size, pace=pace),))


def call(
    name: str,
    arguments: str | Mapping[str, object] | None = None,
    *,
    id: str | None = None,
    size: int = 10,
    pace: float = 0,
) -> Reply:
    """A tool call, its arguments in pieces of `size` characters. Add several for parallel calls."""
    given = arguments if isinstance(arguments, str) else dict(arguments or {})
    return Reply((Call(name=name, arguments=given, id=id, size=size, pace=pace),))


def refuse(text: str = "I can't help with that.", *, filtered: bool = False) -> Reply:
    """The model declines or, if `filtered`, the provider's filter stops it."""
    return Reply((Refuse(text=text, filtered=filtered),))


def fail(
    what: int | Problem,
    message: str | None = None,
    *,
    retry_after: float | None = None,
    in_stream: bool = False,
) -> Reply:
    """An HTTP status, or a problem in each vendor's words; after other pieces, an error event."""
    return Reply((Fail(what=what, message=message, retry_after=retry_after, in_stream=in_stream),))


def pause(seconds: float) -> Reply:
    """Wait before what follows."""
    return Reply((Pause(seconds=seconds),))


def stall() -> Reply:
    """Send nothing more until `release()`; as the first piece, not even the headers."""
    return Reply((Stall(),))


def cut() -> Reply:
    """Close the connection here."""
    return Reply((Cut(),))


def finish(reason: str) -> Reply:
    """End for this reason: `length`, or a word of the vendor's own."""
    return Reply((Finish(reason=reason),))


def use(
    *,
    input_tokens: int | None = None,
    cached_tokens: int | None = None,
    cache_write_tokens: int | None = None,
    output_tokens: int | None = None,
    reasoning_tokens: int | None = None,
) -> Reply:
    """Report this usage instead of what was counted."""
    return Reply(
        (
            Use(
                input_tokens=input_tokens,
                cached_tokens=cached_tokens,
                cache_write_tokens=cache_write_tokens,
                output_tokens=output_tokens,
                reasoning_tokens=reasoning_tokens,
            ),
        )
    )


def nothing() -> Reply:
    """A success without any content."""
    return Reply()


def echo(*, whole: bool = False, size: int | None = None, pace: float = 0) -> Reply:
    """Say the last text of the conversation back, or the whole body of the request."""
    return Reply((Echo(whole=whole, size=size, pace=pace),))


def raw(
    content: str | bytes, *, status: int = 200, content_type: str = "text/event-stream"
) -> Reply:
    """Bytes as they are: within a stream, or as a whole body if there is nothing else."""
    text, data = (content, b"") if isinstance(content, str) else ("", content)
    return Reply((Raw(text=text, data=data, status=status, content_type=content_type),))
