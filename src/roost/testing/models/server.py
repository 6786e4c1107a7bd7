"""A model server for tests: real HTTP on loopback, answers from a script."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Self

from aiohttp import web

from roost.testing.models.catalogue import DEFAULT, Models, catalogue
from roost.testing.models.performance import Performance, perform
from roost.testing.models.playback import Playback
from roost.testing.models.prefix_cache import PrefixCache
from roost.testing.models.prompt import Refused
from roost.testing.models.protocols import PROTOCOLS, read_request
from roost.testing.models.request import ModelRequest, ProtocolName
from roost.testing.models.script import Echo, Fail, Quirk, Reply
from roost.testing.models.writer import Writer

Answer = Reply | Callable[[ModelRequest], Reply]

_BODY_LIMIT = 256 << 20
_SHUTDOWN = 1.0


class ModelServer:
    """Each request takes the next planned reply; when there is none, the last text is echoed.

    `models` limits what may be asked for, and holds what else their list says about each;
    `context` is the longest prompt that is taken, in tokens; `quirks` are those of every reply.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        models: Models | None = None,
        context: int | None = None,
        quirks: Iterable[Quirk] = (),
        otherwise: Answer | None = None,
    ) -> None:
        self.requests: list[ModelRequest] = []
        self._port = port
        self._models = models
        self._context = context
        self._quirks = frozenset(quirks)
        self._otherwise: Answer = otherwise if otherwise is not None else Reply((Echo(),))
        self._plans: dict[str | None, deque[Answer]] = {}
        self._caches: dict[tuple[ProtocolName, str], PrefixCache] = {}
        self._arrival = asyncio.Event()
        self._playing: set[Playback] = set()
        self._closing = False
        self._runner: web.AppRunner | None = None

    # What a test uses.

    def plan(self, *answers: Answer, model: str | None = None) -> None:
        """Add replies, or functions of the request: one for each request (to this model)."""
        self._plans.setdefault(model, deque()).extend(answers)

    def otherwise(self, answer: Answer) -> None:
        """Answer like this when nothing is planned."""
        self._otherwise = answer

    @property
    def unplayed(self) -> int:
        """How many planned replies nobody has asked for."""
        return sum(len(plan) for plan in self._plans.values())

    async def request(self, number: int) -> ModelRequest:
        """The request of this number, from 0, once it has arrived."""
        while len(self.requests) <= number:
            await self._arrival.wait()
        return self.requests[number]

    def release(self) -> None:
        """Let every stalled reply go on."""
        for request in self.requests:
            if request.is_stalled:
                request.release()

    @property
    def url(self) -> str:
        """Where Anthropic's clients want to be pointed."""
        assert self._runner is not None, "the server is not running"
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}"

    @property
    def openai_url(self) -> str:
        """Where OpenAI's clients want to be pointed."""
        return f"{self.url}/v1"

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=_BODY_LIMIT)
        app.add_routes(self.routes())
        self._runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=_SHUTDOWN
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, backlog=1024).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        self._closing = True
        for playback in self._playing:
            playback.abort()
        await self._runner.cleanup()

    def routes(self) -> list[web.RouteDef]:
        spoken = [web.post(each.path, self._handler(name)) for name, each in PROTOCOLS.items()]
        return [*spoken, web.get("/v1/models", self._list_models)]

    # One exchange.

    def _handler(
        self, name: ProtocolName
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(http: web.Request) -> web.StreamResponse:
            request = self._record(name, http, await http.read())
            playback = Playback(request, http)
            self._playing.add(playback)
            try:
                response = await playback.play(self._answer(request))
            except (asyncio.CancelledError, ConnectionError):
                request.over(left=not self._closing)
                raise
            finally:
                self._playing.discard(playback)
                request.over(left=False)
            return response

        return handle

    def _record(self, protocol: ProtocolName, http: web.Request, body: bytes) -> ModelRequest:
        request = ModelRequest(
            number=len(self.requests),
            protocol=protocol,
            path=http.path_qs,
            headers={name.lower(): value for name, value in http.headers.items()},
            body=body,
            at=time.time(),
        )
        self.requests.append(request)
        self._arrival.set()
        self._arrival = asyncio.Event()
        return request

    def _answer(self, request: ModelRequest) -> Performance:
        protocol = PROTOCOLS[request.protocol]
        try:
            read_request(request)
        except Refused as refused:
            request.refused = str(refused)
            fail = Fail(what=400, message=str(refused))
            return perform(Reply((fail,)), self._writer(request), stream=False)
        cache = self._caches.setdefault(
            (request.protocol, request.model), PrefixCache(automatic=protocol.caches_all)
        )
        request.cache = cache.look(request.prompt.segments)
        reply = self._limits(request) or self._next(request)
        writer = self._writer(request, reply.quirks)
        performance = perform(reply, writer, stream=request.stream)
        if performance.status == 200:
            cache.store(request.prompt.segments)
        return performance

    def _writer(self, request: ModelRequest, quirks: frozenset[Quirk] = frozenset()) -> Writer:
        return PROTOCOLS[request.protocol].writer(request, self._quirks | quirks)

    def _limits(self, request: ModelRequest) -> Reply | None:
        if self._models is not None and request.model not in self._models:
            message = f"The model `{request.model}` does not exist."
            return Reply((Fail(what="unknown_model", message=message),))
        asked = request.cache.prompt_tokens
        if self._context is not None and asked > self._context:
            return Reply((Fail(what="context_too_long", message=_too_long(asked, self._context)),))
        return None

    def _next(self, request: ModelRequest) -> Reply:
        plan = self._plans.get(request.model) or self._plans.get(None)
        answer = plan.popleft() if plan else self._otherwise
        return answer if isinstance(answer, Reply) else answer(request)

    async def _list_models(self, http: web.Request) -> web.Response:
        return web.json_response(catalogue(self._models or DEFAULT, http.headers))


def _too_long(asked: int, context: int) -> str:
    """The words of both vendors at once."""
    return (
        f"prompt is too long: {asked} tokens > {context} maximum. This model's maximum context "
        f"length is {context} tokens. However, your messages resulted in {asked} tokens."
    )
