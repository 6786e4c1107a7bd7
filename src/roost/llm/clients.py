"""Clients for all providers, over shared connections, and the lists of what they serve."""

from collections.abc import Sequence
from pathlib import Path

import aiohttp
import msgspec

from roost.core.errors import ModelError, ModelUnreachable, ReplyMalformed
from roost.llm.anthropic import VERSION
from roost.llm.base import LLMClient
from roost.llm.client import Endpoint, HttpClient
from roost.llm.failures import failure
from roost.llm.local import LocalClient, bundled_model
from roost.llm.profiles import profile_for
from roost.llm.providers import LOCAL, Provider, Providers, Target
from roost.llm.retry import Candidate, PatientClient

_LIST_SECONDS = 5.0
_LIST_BYTES = 8 << 20


class Listed(msgspec.Struct, frozen=True):
    """A model that a provider says it serves. A context of None is unknown."""

    provider: Provider
    model: str
    context: int | None


class _Meta(msgspec.Struct):
    n_ctx_train: int | None = None


class _Entry(msgspec.Struct):
    id: str
    context_length: int | None = None
    max_model_len: int | None = None
    meta: _Meta | None = None


class _List(msgspec.Struct):
    data: list[_Entry]


class Clients:
    def __init__(self, providers: Providers, connections: aiohttp.ClientSession) -> None:
        self._providers = providers
        self._connections = connections
        self._clients: dict[tuple[str, str], LLMClient] = {}

    def of(self, target: Target) -> LLMClient:
        """Who answers for a model: itself, asked patiently, and then the fallbacks."""
        targets = [target, *[each for each in self._providers.fallbacks() if each != target]]
        return PatientClient(
            [Candidate(each.provider.name, each.model, self._client(each)) for each in targets]
        )

    def _client(self, target: Target) -> LLMClient:
        provider = target.provider
        # The built-in model has a process for each file; others one client for all their models.
        key = (provider.name, target.model if provider.name == LOCAL else "")
        if key not in self._clients:
            self._clients[key] = self._made(target)
        return self._clients[key]

    def _made(self, target: Target) -> LLMClient:
        provider = target.provider
        if provider.name == LOCAL:
            own = Path(target.model) if target.model.endswith(".gguf") else None
            return LocalClient(self._connections, target.profile, own)
        return HttpClient(
            self._connections,
            Endpoint(provider.name, provider.base_url, self._headers(provider)),
            lambda model: self._providers.resolve(f"{provider.name}/{model}").profile,
        )

    def _headers(self, provider: Provider) -> dict[str, str]:
        headers = {name: value.reveal() for name, value in provider.headers.items()}
        if (key := self._providers.key(provider.name)) is not None:
            name = provider.traits.key_header
            headers[name] = f"Bearer {key.reveal()}" if name == "authorization" else key.reveal()
        if provider.traits.key_header == "x-api-key":
            headers["anthropic-version"] = VERSION
        return headers

    async def models(self, provider: Provider) -> Sequence[Listed]:
        """What a provider serves, by its own word."""
        if provider.name == LOCAL:
            model = bundled_model()
            context = profile_for(provider.vendor, "").context
            return [Listed(provider, provider.model or model.stem, context)] if model else []
        body = await self._get(provider, "/models")
        try:
            found = msgspec.json.decode(body, type=_List | list[_Entry])
        except msgspec.MsgspecError as error:
            raise ReplyMalformed(str(error), provider=provider.name) from error
        entries = found.data if isinstance(found, _List) else found
        return [Listed(provider, entry.id, _context(provider, entry)) for entry in entries]

    async def _get(self, provider: Provider, path: str) -> bytes:
        try:
            async with self._connections.get(
                provider.base_url.rstrip("/") + path,
                headers=self._headers(provider),
                timeout=aiohttp.ClientTimeout(total=_LIST_SECONDS),
                allow_redirects=False,
            ) as response:
                body = await response.content.read(_LIST_BYTES)
                if response.status != 200:
                    raise failure(response.status, body, None, provider.name, "")
                return body
        except ModelError:
            raise
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            detail = str(error) or "it does not answer"
            raise ModelUnreachable(detail, provider=provider.name) from error

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()


def _context(provider: Provider, entry: _Entry) -> int | None:
    trained = entry.meta.n_ctx_train if entry.meta else None
    told = entry.context_length or entry.max_model_len or trained
    return told or profile_for(provider.vendor, entry.id).context
