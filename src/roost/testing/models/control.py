"""The server for tests in other processes, which add to its script and see what was asked."""

import msgspec
from aiohttp import web

from roost.testing.models.prompt import Json
from roost.testing.models.request import ModelRequest
from roost.testing.models.script import Script, as_reply, decode_script
from roost.testing.models.server import ModelServer


class RemoteModelServer(ModelServer):
    """Has three paths of its own: POST /script, GET /requests, POST /release."""

    def follow(self, script: Script) -> None:
        self.plan(*[as_reply(item) for item in script.replies], model=script.model)
        if script.otherwise is not None:
            self.otherwise(as_reply(script.otherwise))

    def routes(self) -> list[web.RouteDef]:
        return [
            *super().routes(),
            web.post("/script", self._add),
            web.get("/requests", self._show),
            web.post("/release", self._release),
        ]

    async def _add(self, http: web.Request) -> web.Response:
        try:
            self.follow(decode_script(await http.read()))
        except msgspec.MsgspecError as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({"unplayed": self.unplayed})

    async def _show(self, http: web.Request) -> web.Response:
        shown = msgspec.json.encode([_shown(request) for request in self.requests])
        return web.Response(body=shown, content_type="application/json")

    async def _release(self, http: web.Request) -> web.Response:
        self.release()
        return web.json_response({})


def _shown(request: ModelRequest) -> Json:
    return {
        "number": request.number,
        "protocol": request.protocol,
        "path": request.path,
        "at": request.at,
        "headers": request.headers,
        "body": request.body.decode("utf-8", "replace"),
        "refused": request.refused,
        "cache": request.cache,
        "stalled": request.is_stalled,
        "left": request.left,
    }
