"""Models and providers: what can be asked, and what an admin adds, tests and removes."""

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from roost.core.errors import InvalidInput
from roost.core.keys import Key
from roost.core.messages import check_text
from roost.core.settings import VendorName, WireName
from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.http.fields import Phrase
from roost.llm.providers import Origin, Provider, Providers
from roost.runtime.catalogue import Role, Setup
from roost.runtime.models import Offered, Tried, Trouble

_Names = Annotated[tuple[Phrase, ...], msgspec.Meta(max_length=100)]


class ModelList(msgspec.Struct, frozen=True, kw_only=True):
    """`default` is what new sessions begin with, `small` does the small work, `fallbacks` answer
    for one that does not, in order. What is `fixed` stands in the configuration and can't be
    changed here. `troubles` are providers that do not say what they have."""

    default: str | None
    small: str | None
    fallbacks: Sequence[str]
    fixed: Sequence[Role]
    models: Sequence[Offered]
    troubles: Sequence[Trouble]


class ChosenModels(msgspec.Struct, frozen=True, kw_only=True):
    default: str | None
    small: str | None
    fallbacks: Sequence[str]
    fixed: Sequence[Role]


class ChooseModels(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Written provider/model. What is left out stays; null leaves it to Roost."""

    default: Phrase | msgspec.UnsetType | None = msgspec.UNSET
    small: Phrase | msgspec.UnsetType | None = msgspec.UNSET
    fallbacks: _Names | msgspec.UnsetType | None = msgspec.UNSET


class ProviderView(msgspec.Struct, frozen=True, kw_only=True):
    """`origin` says who set it up: the `configuration`, a variable of the `environment`, an admin
    over this `api`, or nobody, because such servers `usual`ly are there. Its key is never shown."""

    name: str
    vendor: VendorName
    title: str
    base_url: str
    origin: Origin
    has_key: bool
    wire: WireName
    context: int | None
    models: Sequence[str]
    model: str | None


class ProviderList(msgspec.Struct, frozen=True):
    providers: Sequence[ProviderView]


class NewProvider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A known `vendor`, or the `base_url` of a server that speaks like one. Without a `key` it
    keeps the one that it has, if the address is the same."""

    vendor: VendorName | None = None
    base_url: Phrase | None = None
    wire: WireName | None = None
    context: Annotated[int, msgspec.Meta(ge=1, le=1 << 30)] | None = None
    models: _Names = ()
    key: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)] | None = None

    def __repr__(self) -> str:
        return "NewProvider(…)"  # it may hold a key


class WhichModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Without a model it is the provider's first."""

    model: Phrase | None = None


async def listed(call: Call) -> ModelList:
    """List the models that can be chosen, by each provider's own word."""
    offers = await call.callers.app.parts.models.offered()
    chosen = _chosen(call)
    return ModelList(
        default=chosen.default,
        small=chosen.small,
        fallbacks=chosen.fallbacks,
        fixed=chosen.fixed,
        models=offers.models,
        troubles=offers.troubles,
    )


def _chosen(call: Call) -> ChosenModels:
    catalogue = call.callers.app.parts.catalogue
    chosen = catalogue.providers.chosen
    return ChosenModels(
        default=chosen.default or catalogue.default_name(),
        small=chosen.small,
        fallbacks=chosen.fallbacks or (),
        fixed=sorted(catalogue.configured),
    )


async def chosen(call: Call, body: ChooseModels) -> ChosenModels:
    """Choose the default model, the one for small work, or the fallbacks, from the next turn on.

    Sessions that have a model keep it.
    """
    check_text(body, "model")
    given: dict[Role, str | tuple[str, ...] | msgspec.UnsetType | None] = {
        "default": body.default,
        "small": body.small,
        "fallbacks": body.fallbacks,
    }
    changes: dict[Role, str | tuple[str, ...] | None] = {
        role: value or None
        for role, value in given.items()
        if not isinstance(value, msgspec.UnsetType)
    }
    await call.callers.app.parts.catalogue.choose(changes)
    return _chosen(call)


async def providers(call: Call) -> ProviderList:
    """List the providers, without their keys."""
    known = call.callers.app.parts.catalogue.providers
    return ProviderList([_view(known, each) for each in known])


def _view(known: Providers, provider: Provider) -> ProviderView:
    return ProviderView(
        name=provider.name,
        vendor=provider.vendor,
        title=provider.traits.title,
        base_url=_shown(provider.base_url),
        origin=known.origin(provider.name),
        has_key=known.key(provider.name) is not None,
        wire=provider.wire or provider.traits.profile.wire,
        context=provider.context,
        models=provider.models,
        model=provider.model,
    )


def _shown(address: str) -> str:
    """A variable of the environment may hold a password too."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


async def added(call: Call, provider: str, body: NewProvider) -> ProviderView:
    """Add a provider, or set it up anew, from the next turn on. What the configuration or the
    environment sets up can't be changed here."""
    check_text((body.base_url, body.models), "provider")
    setup = Setup(
        vendor=body.vendor,
        base_url=body.base_url,
        wire=body.wire,
        context=body.context,
        models=body.models,
    )
    catalogue = call.callers.app.parts.catalogue
    made = await catalogue.put(provider, setup, _key(body.key))
    return _view(catalogue.providers, made)


def _key(text: str | None) -> Key | None:
    try:
        return None if text is None else Key(text)
    except ValueError:
        raise InvalidInput("A key is one line of printable ASCII characters.") from None


async def removed(call: Call, provider: str) -> None:
    """Remove a provider that was added here, with its key. Sessions that use it need another
    model."""
    await call.callers.app.parts.catalogue.remove(provider)


async def tried(call: Call, provider: str, body: WhichModel) -> Tried:
    """Ask a provider for one word, to see whether it answers. It may cost a fraction of a cent."""
    check_text(body.model, "model")
    return await call.callers.app.parts.models.test(provider, body.model)


_PROVIDER = "/api/providers/{provider}"

ENDPOINTS = (
    endpoint("GET", "/api/models", listed, scope="read"),
    endpoint("PATCH", "/api/models", chosen, scope="admin"),
    endpoint("GET", "/api/providers", providers, scope="admin"),
    endpoint("PUT", _PROVIDER, added, scope="admin"),
    endpoint("DELETE", _PROVIDER, removed, scope="admin"),
    endpoint("POST", f"{_PROVIDER}/test", tried, scope="admin"),
)
