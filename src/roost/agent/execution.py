"""Running the tool calls of one step: in order, side by side where that is safe, asking first."""

import asyncio
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

import msgspec
import structlog

from roost.agent.approvals import decide, holds, question
from roost.agent.journal import Journal
from roost.agent.masking import NO_MASK, Mask
from roost.core.approvals import Approval, Question, Rule
from roost.core.errors import InvalidInput, RoostError
from roost.core.events import ToolOutputDelta
from roost.core.happenings import Observers, ToolCalled
from roost.core.ids import ToolCallId
from roost.core.messages import FilePart, ImagePart, TextPart, ToolResultPart
from roost.core.turns import ToolCall, ToolCallState
from roost.tools.base import Allowed, Intent, Tool, Toolbox, ToolContext, ToolError, ToolOutput

log = structlog.stdlib.get_logger("roost.agent")

STOP = 0.5
"""Seconds that a tool has to end once it is told to."""
QUESTION = 30.0
SHOWN = 200_000
"""Characters of output that a tool may show while it runs."""
LONGEST = 200_000
"""Characters of a result; what a tool wants to keep whole belongs in a file."""

_OPEN = ("requested", "waiting")
_YES = ("approved", "answered")
_NOT_JSON = "Not run: the arguments are not a whole JSON object. Write them again."

LEFT_ALONE: set[asyncio.Task[ToolOutput]] = set()
"""Tools that did not stop. They keep the interpreter from coming to an end by itself."""


class Guard(msgspec.Struct, frozen=True):
    """What holds for every call: rules for everyone (a user's own come with the journal), and the
    secrets that no tool's output may show."""

    rules: tuple[Rule, ...] = ()
    mask: Mask = NO_MASK


NO_GUARD = Guard()


class Execution:
    def __init__(
        self,
        tools: Toolbox,
        journal: Journal,
        guard: Guard = NO_GUARD,
        observers: Observers | None = None,
    ) -> None:
        self._tools = tools
        self._journal = journal
        self._mask = guard.mask
        self._rules: tuple[Rule, ...] = guard.rules
        self._approvals: Mapping[ToolCallId, Approval] = {}
        self._allowed: dict[ToolCallId, Allowed] = {}
        self._not_run: dict[ToolCallId, tuple[ToolCallState, str]] = {}
        self._observers = Observers() if observers is None else observers
        self._began: dict[ToolCallId, tuple[int, float]] = {}

    async def run(self, calls: Sequence[ToolCall]) -> dict[ToolCallId, ToolResultPart] | None:
        """The result of every call, or None once the turn is parked to ask a person.

        Calls before the first question have run by then; those after it wait, with theirs.
        """
        if any(call.state == "waiting" for call in calls):
            self._approvals = await self._journal.approvals()
        self._rules = (*self._rules, *await self._journal.rules())
        results: dict[ToolCallId, ToolResultPart] = {}
        for group in self._groups(calls):
            if questions := await self._questions(group):
                rest = [call for call in calls if call.call not in results and call not in group]
                await self._journal.park((*questions, *await self._questions(rest)))
                return None
            results |= {result.call: result for result in await self._results(group)}
        return results

    async def _results(self, calls: list[ToolCall]) -> list[ToolResultPart]:
        if len(calls) == 1:
            return [await self._result(calls[0])]
        try:
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(self._result(call)) for call in calls]
        except BaseExceptionGroup as group:
            # A tool that fails has a result; what comes here is the journal's, one for all.
            raise group.exceptions[0] from None
        return [task.result() for task in running]

    def _groups(self, calls: Sequence[ToolCall]) -> Iterator[list[ToolCall]]:
        """Neighbours that may run side by side are one group; any other call is one by itself."""
        for parallel, group in groupby(calls, self._is_parallel):
            if parallel:
                yield list(group)
            else:
                yield from [[call] for call in group]

    def _is_parallel(self, call: ToolCall) -> bool:
        tool = self._tools.find(call.name)
        return tool is not None and tool.parallel

    async def _questions(self, calls: Sequence[ToolCall]) -> tuple[Question, ...]:
        asked = [await self._question(call) for call in calls if call.state in _OPEN]
        return tuple([question for question in asked if question is not None])

    async def _question(self, call: ToolCall) -> Question | None:
        """What a person has to be asked before this may run; asked again if what they answered is
        not what would run now."""
        tool = self._tools.find(call.name)
        approval = self._approvals.get(call.call)
        if tool is None or (approval is not None and approval.state not in _YES):
            return None
        try:
            async with asyncio.timeout(QUESTION):
                intent = await tool.intent(call.arguments, self._context(call, None, _unseen))
        except ToolError as error:
            self._not_run[call.call] = "failed", str(error)
            return None
        except Exception as error:
            log.exception("a tool can't say what it would do", tool=call.name, call=call.call)
            self._not_run[call.call] = "failed", f"Not run: {type(error).__name__}: {error}"
            return None
        verdict = decide(call.name, intent, self._rules)
        if verdict.decision == "deny":
            self._not_run[call.call] = "denied", f"Not run: a rule forbids it ({verdict.rule})."
        elif approval is not None and holds(approval, call, intent or _unsaid(call)):
            self._allowed[call.call] = "by a person"
        elif verdict.decision == "ask":
            return question(call, intent or _unsaid(call))
        else:
            self._allowed[call.call] = verdict.allowed
        return None

    async def _result(self, call: ToolCall) -> ToolResultPart:
        """What a call comes to, once: a result that is there is not made again."""
        if call.state not in _OPEN:
            for part in call.result or ():
                if isinstance(part, ToolResultPart):
                    return part
            raise AssertionError(f"{call.call} is {call.state} without a result")
        tool = self._tools.find(call.name)
        approval = self._approvals.get(call.call)
        failed: ToolCallState = "failed" if call.state == "requested" else "denied"
        if tool is None:
            return await self._settle(call, failed, _error(f"There is no tool {call.name}."))
        if not _is_whole(call.arguments):
            return await self._settle(call, failed, _error(_NOT_JSON))
        if call.call in self._not_run:
            state, why = self._not_run[call.call]
            return await self._settle(call, "denied" if state == "denied" else failed, _error(why))
        if call.state == "waiting" and (approval is None or approval.state not in _YES):
            return await self._settle(call, "denied", _error(_refusal(approval)))
        self._began[call.call] = time.time_ns(), time.monotonic()
        await self._journal.move(call.call, "running")
        output = await self._run(tool, call, approval)
        return await self._settle(call, "failed" if output.error else "done", output)

    async def _run(self, tool: Tool, call: ToolCall, approval: Approval | None) -> ToolOutput:
        """In a task of its own: a tool that does not stop when it is told to holds nobody up."""
        shown = self._mask.stream(self._shower(call))
        context = self._context(call, approval, shown.write)
        work = asyncio.create_task(tool.run(call.arguments, context))
        try:
            await asyncio.wait([work], timeout=tool.seconds)
        except asyncio.CancelledError:
            await _stop(work, call)
            self._tell(call, "cancelled")
            raise
        finally:
            shown.flush()
        if not work.done():
            await _stop(work, call)
            return _error(f"The tool was stopped: it took longer than {tool.seconds:g} s.")
        if work.cancelled():
            return _error("The tool gave up: something that it waited for was cancelled.")
        error = work.exception()
        if error is None:
            # What is cut through the middle of a secret would still show half of it.
            return _bounded(self._mask.output(work.result()))
        if not isinstance(error, ToolError | RoostError):
            trace = self._mask.text("".join(traceback.format_exception(error)))
            log.error("a tool failed", tool=call.name, call=call.call, exception=trace)
            return _error(f"The tool failed: {type(error).__name__}: {error}")
        return _error(str(error))

    async def _settle(
        self, call: ToolCall, state: ToolCallState, output: ToolOutput
    ) -> ToolResultPart:
        output = self._mask.output(output)
        result = ToolResultPart(call.call, output.content, output.error)
        try:
            await self._journal.move(call.call, state, (result,))
        except InvalidInput as error:
            # It names something that is not stored.
            if output.error:
                raise
            return await self._settle(call, "failed", _error(f"The result can't be kept: {error}"))
        self._tell(call, state)
        return result

    def _tell(self, call: ToolCall, state: ToolCallState) -> None:
        now = time.time_ns(), time.monotonic()
        began_at, began = self._began.get(call.call, now)
        known = self._tools.find(call.name) is not None
        self._observers.tell(
            ToolCalled(
                name=call.name if known else None,
                state=state,
                began_at=began_at,
                seconds=now[1] - began,
            )
        )

    def _shower(self, call: ToolCall) -> Callable[[str], None]:
        left = SHOWN

        def show(text: str) -> None:
            nonlocal left
            if left > 0:
                clean = text[:left].encode("utf-8", "replace").decode()
                left -= len(clean)
                self._journal.emit(ToolOutputDelta(call.call, clean))

        return show

    def _context(
        self, call: ToolCall, approval: Approval | None, show: Callable[[str], None]
    ) -> ToolContext:
        return ToolContext(
            user=self._journal.user,
            session=self._journal.turn.session,
            turn=self._journal.turn.id,
            call=call.call,
            show=show,
            keep=self._journal.keep,
            allowed=self._allowed.get(call.call, "by default"),
            approval=approval,
        )


def _unseen(text: str) -> None:
    """Before it runs there is nothing to show."""


def _unsaid(call: ToolCall) -> Intent:
    """A rule asks about a tool that says nothing of what it does."""
    return Intent(does=f"Use {call.name}", subject=call.arguments)


def _error(text: str) -> ToolOutput:
    return ToolOutput.of(text, error=True)


def _is_whole(arguments: str) -> bool:
    """An answer that reached its limit may end in the middle of a call."""
    try:
        msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False
    return True


async def _stop(work: asyncio.Task[ToolOutput], call: ToolCall) -> None:
    work.cancel()
    await asyncio.wait([work], timeout=STOP)
    if not work.done():
        log.error("a tool does not stop; it is left alone", tool=call.name, call=call.call)
        LEFT_ALONE.add(work)
        work.add_done_callback(LEFT_ALONE.discard)


def _bounded(output: ToolOutput) -> ToolOutput:
    """A result that goes into every later request, and into the store."""
    content = tuple([_cut(part) for part in output.content])
    return msgspec.structs.replace(output, content=content)


def _cut(part: TextPart | ImagePart | FilePart) -> TextPart | ImagePart | FilePart:
    if not isinstance(part, TextPart) or len(part.text) <= LONGEST:
        return part
    head, tail = part.text[: LONGEST // 2], part.text[-LONGEST // 2 :]
    return TextPart(f"{head}\n[{len(part.text) - LONGEST} characters left out]\n{tail}")


def _refusal(approval: Approval | None) -> str:
    if approval is None:
        return "Not run: nobody was asked."
    if approval.state == "expired":
        return "Not run: nobody answered in time."
    said = f" They said: {approval.answer}" if approval.answer else ""
    return f"Not run: the user denied it.{said}"
