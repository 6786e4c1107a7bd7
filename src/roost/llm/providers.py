"""Where models are, which key opens them, and what a model's name refers to."""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Literal, Self
from urllib.parse import urlsplit

import msgspec

from roost.core.config import Config, ProviderConfig
from roost.core.errors import ConfigError, InvalidInput, RoostError
from roost.core.keys import Key
from roost.core.loading import read_key
from roost.core.settings import Given, VendorName, WireName
from roost.llm.profiles import VENDORS, Profile, Vendor, profile_for, vendor_named

LOCAL = "local"

Origin = Literal["configuration", "environment", "api", "usual"]
"""By whom a provider was set up: in the configuration, by a variable of the environment, by an
admin while Roost runs; or by nobody: it is where such servers usually are."""


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """A place that serves models. Its key is held apart: `Providers.key` gives it.

    `base_url` is empty for the built-in model, whose address is known once it runs.
    """

    name: str
    vendor: VendorName
    base_url: str = ""
    wire: WireName | None = None
    context: int | None = None
    models: tuple[str, ...] = ()
    headers: Mapping[str, Key] = {}

    @property
    def traits(self) -> Vendor:
        return VENDORS[self.vendor]

    @property
    def model(self) -> str | None:
        """What it is asked for if nobody says which."""
        return self.models[0] if self.models else self.traits.model

    def profile(self, model: str) -> Profile:
        """How to speak to one of its models."""
        profile = profile_for(self.vendor, model)
        if self.wire is not None:
            profile = msgspec.structs.replace(profile, wire=self.wire)
        if self.context is not None:
            profile = msgspec.structs.replace(profile, context=self.context)
        return profile


class Target(msgspec.Struct, frozen=True):
    """A model at a provider, and how to speak to it."""

    provider: Provider
    model: str
    profile: Profile

    def __str__(self) -> str:
        return f"{self.provider.name}/{self.model}"

    @property
    def tiny(self) -> bool:
        """Whether this is the model that comes with Roost."""
        return self.provider.vendor == LOCAL and not self.model.endswith(".gguf")


class Answerer(msgspec.Struct, frozen=True):
    """A model as it is known outside: by its name, and whether it is the tiny one."""

    name: str
    tiny: bool


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """Which models are asked, written as in `models` of the configuration; None is not chosen."""

    default: str | None = None
    small: str | None = None
    fallbacks: tuple[str, ...] | None = None


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """What is set up besides the configuration, which goes first in all of it."""

    providers: Mapping[str, ProviderConfig] = {}
    keys: Mapping[str, Key] = {}
    chosen: Chosen = Chosen()


class Providers:
    """All providers: those of the file, in its order, then those whose key is in the environment,
    then the user's own servers, at their usual ports, and the built-in model; those that an admin
    added come after the file's."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        keys: Mapping[str, Key],
        *,
        chosen: Chosen = Chosen(),  # noqa: B008 (frozen)
        origins: Mapping[str, Origin] | None = None,
    ) -> None:
        self._providers = providers
        self._keys = keys
        self._origins = origins or {}
        self.chosen = chosen

    @classmethod
    def of(cls, config: Config, keys: Mapping[str, Key], environ: Mapping[str, str]) -> Self:
        """`keys` are those that `load_keys` found; the vendors' own variables are read here."""
        providers: dict[str, Provider] = {}
        held = dict(keys)
        origins: dict[str, Origin] = dict.fromkeys(config.providers, "configuration")
        for name, given in config.providers.items():
            provider = providers[name] = _configured(name, given, environ)
            if name not in held and given.key_env is None and _is_home(provider, environ):
                held |= _from_variables(name, provider.traits, environ)
        for vendor, traits in VENDORS.items():
            if vendor in providers:
                continue
            provider = _usual(vendor, traits, environ)
            found = _from_variables(vendor, traits, environ)
            if provider is not None and (found or traits.own):
                providers[vendor] = provider
                held |= found
                elsewhere = environ.get(traits.base_url_variable or "")
                origins[vendor] = "environment" if found or elsewhere else "usual"
        models = config.models
        fallbacks = models.fallbacks or None
        chosen = Chosen(default=models.default, small=models.small, fallbacks=fallbacks)
        return cls(providers, held, chosen=chosen, origins=origins)

    def extended(self, added: Added) -> "Providers":
        """These with others. What is added knows nothing of the environment: its keys are for
        addresses that the environment chose."""
        mine = [name for name in self._providers if self._origins.get(name) == "configuration"]
        providers = {name: self._providers[name] for name in mine}
        for name, given in added.providers.items():
            if self.may_be_added(name):
                providers[name] = _configured(name, given, {})
        new = [name for name in providers if name not in mine]
        providers |= {name: each for name, each in self._providers.items() if name not in new}
        keys = {name: key for name, key in self._keys.items() if name not in new}
        keys |= {name: key for name, key in added.keys.items() if name in new}
        set_up, chosen = self.chosen, added.chosen
        return Providers(
            providers,
            keys,
            origins={**self._origins, **dict.fromkeys(new, "api")},
            chosen=Chosen(
                default=set_up.default or chosen.default,
                small=set_up.small or chosen.small,
                fallbacks=set_up.fallbacks or chosen.fallbacks,
            ),
        )

    def may_be_added(self, name: str) -> bool:
        """Whether an admin may say where it is: nobody else did."""
        return name != LOCAL and self.origin(name) in ("api", "usual")

    def origin(self, name: str) -> Origin:
        """Of one that is not there, it would be an admin's."""
        return self._origins.get(name, "api")

    def adopt(self, others: "Providers") -> None:
        """From now on these are the others. Whoever holds a target keeps what it has."""
        self._providers, self._keys = others._providers, others._keys  # noqa: SLF001 (its own kind)
        self._origins, self.chosen = others._origins, others.chosen  # noqa: SLF001

    def copy(self) -> "Providers":
        return Providers(self._providers, self._keys, chosen=self.chosen, origins=self._origins)

    def find(self, name: str) -> Provider | None:
        return self._providers.get(name)

    def window(self, provider: str, model: str) -> int | None:
        """How much context a model takes, if that is known."""
        found = self.find(provider)
        return None if found is None else found.profile(model).context

    def __iter__(self) -> Iterator[Provider]:
        return iter(self._providers.values())

    def key(self, provider: str) -> Key | None:
        return self._keys.get(provider)

    def credential(self, provider: Provider) -> str:
        """All that opens it, as one text: the key, and headers that may hold another."""
        key = self._keys.get(provider.name)
        headers = sorted([(name, each.reveal()) for name, each in provider.headers.items()])
        return msgspec.json.encode([key.reveal() if key else None, headers]).decode()

    def resolve(self, reference: str | None = None) -> Target:
        """What `provider/model`, the bare name of either, or nothing refers to."""
        if reference is None:
            return self.default()
        name, _, model = reference.partition("/")
        if reference.endswith(".gguf") and (name == LOCAL or name not in self._providers):
            return self._target(self._providers[LOCAL], reference.removeprefix("local/"))
        if name in self._providers:
            return self._target(self._providers[name], model)
        if (provider := self._owner_of(reference)) is not None:
            return self._target(provider, reference)
        raise InvalidInput(self._unknown(reference, name if model else reference))

    def is_strange_file(self, reference: str) -> bool:
        """Whether it names a file of this machine that nobody has set up: whoever wrote it, it
        would be read outside of any box."""
        name = reference.partition("/")[0]
        runs_it = self._providers.get(name, self._providers[LOCAL])
        if runs_it.vendor != LOCAL or not reference.endswith(".gguf"):
            return False
        chosen = (self.chosen.default, self.chosen.small, *(self.chosen.fallbacks or ()))
        set_up = {each.removeprefix(f"{runs_it.name}/") for each in chosen if each}
        return reference.removeprefix(f"{runs_it.name}/") not in {*set_up, *runs_it.models}

    def default(self) -> Target:
        if self.chosen.default is not None:
            return self._configured_target(self.chosen.default, "models.default")
        for provider in self:
            # One that was added may never have answered: it is asked once it is chosen.
            added = self.origin(provider.name) == "api"
            if provider.name != LOCAL and not added and self._is_ready(provider):
                return self._target(provider, "")
        return self._target(self._providers[LOCAL], "")

    def known(self) -> Iterator[Target]:
        """The models that are set up here by name, or by a key to their provider."""
        for provider in self:
            has_key = provider.name in self._keys
            models = provider.models or ((provider.model or "",) if has_key else ())
            if has_key or not provider.traits.key_variables:
                yield from [self._target(provider, model) for model in models if model]

    def small(self) -> Target | None:
        """The model for small work, if there is one of its own."""
        if self.chosen.small is None:
            return None
        return self._configured_target(self.chosen.small, "models.small")

    def fallbacks(self) -> tuple[Target, ...]:
        """The models to ask when another does not answer, in order."""
        return tuple(
            [
                self._configured_target(each, "models.fallbacks")
                for each in self.chosen.fallbacks or ()
            ]
        )

    def _configured_target(self, reference: str, setting: str) -> Target:
        try:
            return self.resolve(reference)
        except RoostError as error:
            raise ConfigError(f"The setting {setting} can't be used. {error}") from error

    def _is_ready(self, provider: Provider) -> bool:
        """Someone set it up, and it can be asked. A server at its usual port may not run."""
        has_key = provider.name in self._keys
        chosen = has_key or bool(provider.models)
        return chosen and provider.model is not None and (has_key or provider.traits.own)

    def _target(self, provider: Provider, model: str) -> Target:
        self._require_key(provider)
        model = model or provider.model or ""
        if not model:
            raise InvalidInput(
                f"Which model of {provider.name}? Write it as {provider.name}/MODEL;"
                " `roost models` lists those that are there."
            )
        return Target(provider, model, provider.profile(model))

    def _require_key(self, provider: Provider) -> None:
        """A server of one's own, or one that only speaks like OpenAI's, may want none."""
        if provider.name in self._keys or not provider.traits.key_variables:
            return
        raise ConfigError(_no_key(provider.name, provider.traits))

    def _owner_of(self, model: str) -> Provider | None:
        """Who has a model that was named alone: who lists it, whose family it is, the only one."""
        for provider in self:
            if model in provider.models:
                return provider
        ready = [provider for provider in self if provider.name in self._keys]
        for provider in ready:
            if any(re.fullmatch(family, model) for family in provider.traits.families):
                return provider
        return ready[0] if len(ready) == 1 and "/" not in model else None

    def _unknown(self, reference: str, name: str) -> str:
        """What is wrong with a reference, and what to write or to set instead."""
        through = [each.name for each in self if each.vendor == "openrouter"]
        if (vendor := vendor_named(name)) is not None:
            other = f" Or write {through[0]}/{reference}." if through and "/" in reference else ""
            return _no_key(name, VENDORS[vendor]) + other
        close = difflib.get_close_matches(name, [*self._providers, *VENDORS], n=1)
        if close:
            return f"There is no provider {name}. Did you mean {close[0]}?"
        if through and "/" in reference:
            return f"There is no provider {name}. Did you mean {through[0]}/{reference}?"
        for vendor, traits in VENDORS.items():
            if any(re.fullmatch(family, reference) for family in traits.families):
                return _no_key(vendor, traits)
        return (
            f"It is not clear who has the model {reference}. Write it as PROVIDER/{reference};"
            f" there are {', '.join(self._providers)}."
        )


def _no_key(name: str, traits: Vendor) -> str:
    if not traits.key_variables:
        return (
            f"There is no provider {name}. Add [providers.{name}] with its base_url to roost.toml."
        )
    also = f" and {traits.base_url_variable}" if traits.base_url is None else ""
    where = f"key_env in [providers.{name}] of roost.toml"
    return f"There is no key for {name}. Set {traits.key_variables[0]}{also}, or {where}."


def _configured(name: str, given: ProviderConfig, environ: Mapping[str, str]) -> Provider:
    vendor = given.vendor or vendor_named(name)
    if vendor is None:
        if given.base_url is None:
            raise ConfigError(
                f"The provider {name} needs a vendor or a base_url. Known vendors are"
                f" {', '.join(VENDORS)}."
            )
        vendor = "compatible"
    usual = _usual(vendor, VENDORS[vendor], environ)
    base_url = given.base_url or (usual.base_url if usual else None)
    if base_url is None:
        raise ConfigError(
            f"The provider {name} needs its base_url: {VENDORS[vendor].title} has no usual address."
        )
    return Provider(
        name=name,
        vendor=vendor,
        base_url=_completed(vendor, base_url),
        wire=given.wire,
        context=given.context,
        models=given.models,
        headers=given.headers,
    )


def _usual(vendor: VendorName, traits: Vendor, environ: Mapping[str, str]) -> Provider | None:
    """The vendor where it usually is; where the environment says otherwise, there."""
    elsewhere = environ.get(traits.base_url_variable or "")
    if vendor == LOCAL:
        return Provider(name=LOCAL, vendor=LOCAL)
    if not elsewhere:
        base_url = traits.base_url
        return Provider(name=vendor, vendor=vendor, base_url=base_url) if base_url else None
    # Whoever answers there instead of OpenAI speaks its older protocol, if not the newer.
    speaks: VendorName = "compatible" if vendor == "openai" and _host(elsewhere) else vendor
    if traits.base_url and _host(elsewhere) == _host(traits.base_url):
        speaks = vendor
    return Provider(name=vendor, vendor=speaks, base_url=_completed(vendor, elsewhere))


def _completed(vendor: VendorName, base_url: str) -> str:
    """Azure and Anthropic are known by their host alone, as their own packages take it."""
    base_url = base_url.rstrip("/")
    if urlsplit(base_url).path:
        return base_url
    return base_url + {"azure": "/openai/v1", "anthropic": "/v1"}.get(vendor, "")


def _host(base_url: str) -> str:
    return urlsplit(base_url).netloc


def _is_home(provider: Provider, environ: Mapping[str, str]) -> bool:
    """Whether this is where the vendor's variables belong: a key is for one address, and is not
    sent to another just because the two speak alike."""
    usual = _usual(provider.vendor, provider.traits, environ)
    return usual is None or _host(usual.base_url) == _host(provider.base_url)


def _from_variables(name: str, traits: Vendor, environ: Mapping[str, str]) -> dict[str, Key]:
    for variable in traits.key_variables:
        if text := environ.get(variable):
            return {name: read_key(Given((variable,), text, "the environment"))}
    return {}
