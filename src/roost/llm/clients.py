"""Clients for all providers, over shared connections, and the lists of what they serve."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohttp
import msgspec

from roost.core.errors import ModelError, ModelUnreachable, ReplyMalformed, RequestRefused
from roost.core.happenings import Observers
from roost.llm.anthropic import VERSION
from roost.llm.base import LLMClient
from roost.llm.client import Endpoint, HttpClient, without_secrets
from roost.llm.failures import UNREADABLE, failure
from roost.llm.local import LocalClient, available
from roost.llm.profiles import profile_for
from roost.llm.providers import LOCAL, Provider, Providers, Target
from roost.llm.retry import Candidate, PatientClient

_LIST_SECONDS = 5.0
_LIST_BYTES = 8 << 20
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Listed(msgspec.Struct, frozen=True):
    """A model that a provider says it serves. A context of None is unknown."""

    provider: Provider
    model: str
    context: int | None


class _Meta(msgspec.Struct):
    n_ctx: int | None = None
    n_ctx_train: int | None = None


class _Entry(msgspec.Struct):
    id: str
    context_length: int | None = None
    max_model_len: int | None = None
    meta: _Meta | str | int | float | list[object] | None = None


class _List(msgspec.Struct):
    data: list[_Entry] | None
    """Ollama says null when it has none."""


class _Made(NamedTuple):
    """A client, and what it was made from."""

    provider: Provider
    endpoint: Endpoint
    client: LLMClient


class Clients:
    """`connections` go the way that the environment says, through a proxy perhaps; `direct` ones
    are for this machine itself, where no proxy leads."""

    def __init__(
        self,
        providers: Providers,
        connections: aiohttp.ClientSession,
        direct: aiohttp.ClientSession,
    ) -> None:
        self._providers = providers
        self._connections = connections
        self._direct = direct
        self._clients: dict[tuple[str, str], _Made] = {}
        self.observers = Observers()

    def of(self, target: Target) -> LLMClient:
        """Who answers for a model: itself, asked patiently, and then the fallbacks."""
        targets = [target, *[each for each in self._providers.fallbacks() if each != target]]
        return PatientClient(
            [Candidate(each.provider.name, each.model, self._client(each)) for each in targets],
            observers=self.observers,
        )

    def one(self, target: Target) -> LLMClient:
        """A model by itself: asked once, and nobody in its place."""
        return self._client(target)

    def _client(self, target: Target) -> LLMClient:
        provider = target.provider
        # The built-in model has a process for each file; others one client for all their models.
        is_file = provider.vendor == LOCAL and not target.tiny
        key = (provider.name, target.model if is_file else "")
        endpoint = Endpoint(provider.name, provider.base_url, self._headers(provider))
        made = self._clients.get(key)
        if made is None or (made.provider, made.endpoint) != (provider, endpoint):
            # Where it is or what opens it has changed. Whoever has the older client keeps it.
            made = self._clients[key] = _Made(provider, endpoint, self._made(target, endpoint))
        return made.client

    def _made(self, target: Target, endpoint: Endpoint) -> LLMClient:
        provider = target.provider
        if provider.vendor == LOCAL:
            if target.tiny:  # by whatever name
                return LocalClient(self._direct, provider.profile(provider.model or ""))
            return LocalClient(self._direct, target.profile, Path(target.model).expanduser())
        return HttpClient(self._to(provider), endpoint, provider.profile)

    def _headers(self, provider: Provider) -> dict[str, str]:
        headers = {name.lower(): value.reveal() for name, value in provider.headers.items()}
        name = _key_header(provider)
        if (key := self._providers.key(provider.name)) is not None:
            headers[name] = f"Bearer {key.reveal()}" if name == "authorization" else key.reveal()
        if _speaks_anthropic(provider):
            headers.setdefault("anthropic-version", VERSION)
        return headers

    def _to(self, provider: Provider) -> aiohttp.ClientSession:
        return self._direct if _host(provider) in _LOOPBACK else self._connections

    async def models(self, provider: Provider) -> Sequence[Listed]:
        """What a provider serves, by its own word."""
        if provider.vendor == LOCAL:
            context = profile_for(provider.vendor, "").context
            return [Listed(provider, provider.model or LOCAL, context)] if available() else []
        # Anthropic gives a page of twenty unless it is asked for more.
        path = "/models?limit=1000" if _speaks_anthropic(provider) else "/models"
        body = await self._get(provider, path)
        try:
            found = msgspec.json.decode(body, type=_List | list[_Entry], strict=False)
        except UNREADABLE as error:
            raise ReplyMalformed(str(error), provider=provider.name) from error
        entries = found.data or [] if isinstance(found, _List) else found
        return [_listed(provider, entry) for entry in entries]

    async def _get(self, provider: Provider, path: str) -> bytes:
        headers = self._headers(provider)
        try:
            async with self._to(provider).get(
                provider.base_url.rstrip("/") + path,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=_LIST_SECONDS),
                allow_redirects=False,
            ) as response:
                body = b""
                async for chunk in response.content.iter_any():
                    body += chunk
                    if len(body) > _LIST_BYTES:
                        raise ReplyMalformed("the list is too long", provider=provider.name)
                if response.status == 404:
                    # Not that a model is unknown: there is no list at this address.
                    raise RequestRefused("there is no list of models", provider=provider.name)
                if response.status != 200:
                    error = failure(response.status, body, None, provider.name, "")
                    raise without_secrets(error, headers)
                return body
        except ModelError:
            raise
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            detail = str(error) or "it does not answer"
            raise ModelUnreachable(detail, provider=provider.name) from error

    async def close(self) -> None:
        for made in self._clients.values():
            await made.client.close()


def _speaks_anthropic(provider: Provider) -> bool:
    return (provider.wire or provider.traits.profile.wire) == "anthropic"


def _key_header(provider: Provider) -> str:
    """Where the key goes: a matter of the protocol, and among OpenAI's of the vendor."""
    if _speaks_anthropic(provider):
        return "x-api-key"
    usual = provider.traits.key_header
    return "authorization" if usual == "x-api-key" else usual


def _host(provider: Provider) -> str | None:
    try:
        return urlsplit(provider.base_url).hostname
    except ValueError:
        return None


def _listed(provider: Provider, entry: _Entry) -> Listed:
    # Google lists its models as resources, and takes them by their bare names too.
    name = entry.id.removeprefix("models/") if provider.vendor == "google" else entry.id
    meta = entry.meta if isinstance(entry.meta, _Meta) else _Meta()
    told = entry.context_length or entry.max_model_len or meta.n_ctx or meta.n_ctx_train
    return Listed(provider, name, told or profile_for(provider.vendor, name).context)
