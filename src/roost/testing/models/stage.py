"""Plays the pieces of a reply one after the other, and notes what there is to send."""

from roost.testing.models.prefix_cache import CacheUse
from roost.testing.models.script import (
    Call,
    Cut,
    Echo,
    Fail,
    Finish,
    Pause,
    Piece,
    Raw,
    Refuse,
    Say,
    Stall,
    Think,
    Use,
    tokens,
)
from roost.testing.models.steps import Drop, Hold, Step, Wait
from roost.testing.models.writer import Block, Counts, Ending, Writer


class Stage:
    """`begun` once something of the answer itself was sent; `over` once nothing may follow."""

    def __init__(self, writer: Writer) -> None:
        self.steps: list[Step] = []
        self.begun = False
        self.over = False
        self.failed: Fail | None = None
        self._writer = writer
        self._open: Block | None = None
        self._reason: str | None = None
        self._use = Use()
        self._spoken = 0
        self._thought = 0

    def play(self, piece: Piece) -> None:
        match piece:
            case Say():
                self._speak(self._block(Block("text")), tokens(piece.text, piece.size), piece.pace)
            case Think():
                self._think(piece)
            case Call():
                self._call(piece)
            case Echo():
                self._echo(piece)
            case Refuse():
                self._refuse(piece)
            case Raw():
                self._begin()
                self.steps.append(piece.content)
            case Fail():
                self._fail(piece)
            case Finish():
                self._reason = piece.reason
            case Use():
                self._use = piece
            case Pause() | Stall() | Cut():
                self.steps.append(connection_step(piece))
                self.over = isinstance(piece, Cut)

    def end(self) -> None:
        """Close what is open, unless it broke off."""
        if self.over:
            return
        self._begin()
        self._close()
        self.steps.append(self._writer.end(self.ending()))

    def ending(self) -> Ending:
        called = any(block.kind == "call" for block in self._writer.blocks)
        return Ending(self._reason or ("tool_calls" if called else "stop"), self._counts())

    def _counts(self) -> Counts:
        """What was counted, unless the script says otherwise."""
        use = self._use
        cache = self._writer.request.cache if use.input_tokens is None else CacheUse(0)
        return Counts(
            input_tokens=_or(use.input_tokens, cache.prompt_tokens),
            cached_tokens=_or(use.cached_tokens, cache.hit_tokens),
            cache_write_tokens=_or(use.cache_write_tokens, cache.write_tokens),
            output_tokens=_or(use.output_tokens, self._spoken),
            reasoning_tokens=_or(use.reasoning_tokens, self._thought),
        )

    def _begin(self) -> None:
        if not self.begun:
            self.begun = True
            self.steps.append(self._writer.begin(self._counts()))

    def _block(self, block: Block, *, apart: bool = False) -> Block:
        """The block that is open, if this is more of it; else this one."""
        self._begin()
        if self._open and self._open.kind == block.kind and not apart:
            return self._open
        self._close()
        block.index = len(self._writer.blocks)
        self._writer.blocks.append(block)
        self._open = block
        self.steps.append(self._writer.opened(block))
        return block

    def _close(self) -> None:
        if self._open:
            self.steps.append(self._writer.closed(self._open))
            self._open = None

    def _speak(self, block: Block, said: list[str], pace: float) -> None:
        for token in said:
            if pace:
                self.steps.append(Wait(pace))
            block.tokens.append(token)
            self.steps.append(self._writer.delta(block, token))
        self._spoken += len(said)

    def _think(self, piece: Think) -> None:
        sealed = self._open is not None and (self._open.payload or self._open.redacted)
        new = Block("thought", payload=piece.payload, redacted=piece.redacted)
        block = self._block(new, apart=bool(sealed) or piece.redacted)
        block.payload = piece.payload
        said = tokens(piece.text, piece.size)
        self._thought += len(said)
        self._speak(block, said, piece.pace)

    def _call(self, piece: Call) -> None:
        before = sum(block.kind == "call" for block in self._writer.blocks)
        name, id = piece.name, piece.id or self._writer.call_id(before)
        block = self._block(Block("call", name=name, id=id), apart=True)
        self._spoken += 1
        self._speak(block, tokens(piece.arguments_text, piece.size), piece.pace)

    def _echo(self, piece: Echo) -> None:
        request = self._writer.request
        text = request.body.decode("utf-8", "replace") if piece.whole else request.last_text
        self.play(Say(text=text, size=piece.size, pace=piece.pace))

    def _refuse(self, piece: Refuse) -> None:
        if piece.filtered:
            self._begin()
            self._reason = "content_filter"
        else:
            self._speak(self._block(Block("refusal")), tokens(piece.text, None), 0)

    def _fail(self, piece: Fail) -> None:
        self.failed = piece
        self.over = True
        if piece.in_stream:
            self._begin()
        if self.begun:
            self.steps.append(self._writer.error_event(self._writer.failure(piece)))


def connection_step(piece: Pause | Stall | Cut) -> Step:
    match piece:
        case Pause():
            return Wait(piece.seconds)
        case Stall():
            return Hold()
        case Cut():
            return Drop()


def _or(given: int | None, counted: int) -> int:
    return counted if given is None else given
