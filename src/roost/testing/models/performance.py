"""A reply made ready to send: a head, and steps of bytes and of waiting."""

from collections.abc import Mapping

import msgspec

from roost.testing.models.script import Cut, Fail, Pause, Raw, Reply, Stall
from roost.testing.models.stage import Stage, connection_step
from roost.testing.models.steps import Drop, Step, Wait, quirky, split
from roost.testing.models.writer import Writer


class Performance(msgspec.Struct, frozen=True, kw_only=True):
    """`length` is the body's, if it is said beforehand; otherwise it is sent in chunks."""

    steps: list[Step]
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = {}
    length: int | None = None


def perform(reply: Reply, writer: Writer, *, stream: bool) -> Performance:
    raws = [piece for piece in reply.pieces if isinstance(piece, Raw)]
    others = [piece for piece in reply.pieces if not isinstance(piece, Raw | Pause | Stall | Cut)]
    if raws and not others:
        return _bare(reply, raws[0])
    stage = Stage(writer)
    for piece in reply.pieces:
        stage.play(piece)
        if stage.over:
            break
    stage.end()
    if stage.failed and not (stream and stage.begun):
        return _failed(stage, stage.failed, writer)
    if not stream:
        return _whole(stage, writer, reply)
    return Performance(
        content_type="text/event-stream; charset=utf-8",
        headers=writer.headers,
        steps=split(quirky(stage.steps, writer.quirks), reply),
    )


def _bare(reply: Reply, head: Raw) -> Performance:
    steps: list[Step] = []
    for piece in reply.pieces:
        if isinstance(piece, Raw):
            steps.append(piece.content)
        elif isinstance(piece, Pause | Stall | Cut):
            steps.append(connection_step(piece))
    return Performance(
        status=head.status, content_type=head.content_type, steps=split(steps, reply)
    )


def _failed(stage: Stage, fail: Fail, writer: Writer) -> Performance:
    failure = writer.failure(fail)
    body = msgspec.json.encode(writer.error_body(failure))
    after = fail.retry_after
    return Performance(
        status=failure.status,
        headers={**writer.headers, **({} if after is None else {"retry-after": f"{after:g}"})},
        steps=[*_silent(stage), body],
        length=len(body),
    )


def _whole(stage: Stage, writer: Writer, reply: Reply) -> Performance:
    """Everything at once, when a stream of it would have ended; half of it, if that was cut."""
    body = msgspec.json.encode(writer.whole(stage.ending()))
    steps = _silent(stage)
    if steps and isinstance(steps[-1], Drop):
        if stage.begun:
            steps.insert(-1, body[: len(body) // 2])
    else:
        steps.append(body)
    return Performance(headers=writer.headers, steps=split(steps, reply), length=len(body))


def _silent(stage: Stage) -> list[Step]:
    """A stream's steps without what it says, its waits added up."""
    steps: list[Step] = []
    for step in stage.steps:
        last = steps[-1] if steps else None
        if isinstance(step, Wait) and isinstance(last, Wait):
            steps[-1] = Wait(last.seconds + step.seconds)
        elif not isinstance(step, bytes):
            steps.append(step)
    return steps
