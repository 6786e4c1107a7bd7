"""Which providers there are, with which keys, and what a model's name refers to."""

from pathlib import Path

import msgspec
import pytest

from roost.core.config import ProviderConfig
from roost.core.errors import ConfigError, InvalidInput
from roost.core.keys import Key
from roost.core.loading import ConfigFile, load, load_keys
from roost.core.settings import BaseUrl
from roost.llm.profiles import VENDORS
from roost.llm.providers import Added, Chosen, Providers

DOCS = Path(__file__).parents[3] / "docs" / "configuration.md"

OPENAI = {"OPENAI_API_KEY": "sk-openai"}
ANTHROPIC = {"ANTHROPIC_API_KEY": "sk-anthropic"}
OPENROUTER = {"OPENROUTER_API_KEY": "sk-openrouter"}
NEST = (
    "[providers.nest]\nbase_url = 'https://nest.example/v1'\nkey = 'sk-nest'\nmodels = ['heron']\n"
)


def providers(toml: str = "", environ: dict[str, str] | None = None) -> Providers:
    file = ConfigFile(Path("/etc/roost/roost.toml"), toml)
    environ = {"HOME": "/home/wren"} | (environ or {})
    return Providers.of(load(file, environ, {}), load_keys(file, environ), environ)


def resolved(reference: str | None, toml: str = "", environ: dict[str, str] | None = None) -> str:
    return str(providers(toml, environ).resolve(reference))


def complaint(reference: str | None, toml: str = "", environ: dict[str, str] | None = None) -> str:
    with pytest.raises((ConfigError, InvalidInput)) as caught:
        resolved(reference, toml, environ)
    return str(caught.value)


def test_built_in_model_answers_when_there_is_nothing_else() -> None:
    target = providers().resolve(None)
    assert str(target) == "local/smollm2-135m-instruct"
    assert target.profile.brief


def test_first_provider_with_a_key_is_the_default() -> None:
    assert resolved(None, environ=ANTHROPIC | OPENROUTER) == "anthropic/claude-sonnet-5-5"
    assert resolved(None, NEST, OPENAI) == "nest/heron"


@pytest.mark.parametrize("vendor", [name for name in VENDORS if VENDORS[name].key_variables])
def test_every_vendor_is_found_by_its_variables(vendor: str) -> None:
    traits = next(VENDORS[name] for name in VENDORS if name == vendor)
    for variable in traits.key_variables:
        environ = {variable: "sk-1"}
        if traits.base_url is None:
            assert traits.base_url_variable is not None
            environ[traits.base_url_variable] = "https://nest.example"
        found = providers(environ=environ)
        assert found.key(vendor) == Key("sk-1")
        assert str(found.resolve(f"{vendor}/heron")) == f"{vendor}/heron"


def test_every_vendor_and_its_variables_are_in_the_documentation() -> None:
    page = DOCS.read_text(encoding="utf-8")
    for name, vendor in VENDORS.items():
        assert f"`{name}`" in page
        for variable in (*vendor.key_variables, vendor.base_url_variable):
            assert variable is None or f"`{variable}`" in page


def test_known_are_those_that_are_named_or_have_a_key_to_their_provider() -> None:
    named = "[providers.own]\nbase_url = 'http://own.example/v1'\nmodels = ['wren', 'owl']\n"
    keyless = "[providers.groq]\nmodels = ['stork']\n"
    found = [str(target) for target in providers(NEST + named + keyless, ANTHROPIC).known()]
    assert found == ["nest/heron", "own/wren", "own/owl", "anthropic/claude-sonnet-5-5"]


def test_configured_default_wins() -> None:
    toml = "[models]\ndefault = 'openai/gpt-4.1'"
    assert resolved(None, toml, OPENAI | ANTHROPIC) == "openai/gpt-4.1"


def test_server_of_ones_own_that_was_set_up_is_a_default() -> None:
    toml = "[providers.attic]\nvendor = 'ollama'\nmodels = ['qwen3:8b']"
    assert resolved(None, toml) == "attic/qwen3:8b"


def test_server_that_may_not_run_is_no_default() -> None:
    assert resolved(None, "[providers.ollama]") == "local/smollm2-135m-instruct"


def test_fallbacks_are_resolved_in_order() -> None:
    toml = "[models]\nfallbacks = ['openai/gpt-4.1', 'local']"
    found = [str(target) for target in providers(toml, OPENAI).fallbacks()]
    assert found == ["openai/gpt-4.1", "local/smollm2-135m-instruct"]


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("openai/gpt-4.1", "openai/gpt-4.1"),
        ("openai", "openai/gpt-6.1-terra"),
        ("gpt-4.1", "openai/gpt-4.1"),
        ("claude-opus-5", "anthropic/claude-opus-5"),
        ("heron", "nest/heron"),
        ("nest/egret", "nest/egret"),
        ("openrouter/qwen/qwen3-32b", "openrouter/qwen/qwen3-32b"),
        ("ollama/qwen3:8b", "ollama/qwen3:8b"),
        ("/models/heron.gguf", "local//models/heron.gguf"),
        ("local/heron.gguf", "local/heron.gguf"),
    ],
)
def test_name_of_a_model_is_found(reference: str, expected: str) -> None:
    assert resolved(reference, NEST, OPENAI | ANTHROPIC | OPENROUTER) == expected


def test_only_provider_is_asked_for_any_model() -> None:
    assert resolved("heron-2", environ=OPENAI) == "openai/heron-2"


@pytest.mark.parametrize(
    ("reference", "environ", "expected"),
    [
        ("opneai/gpt-5", OPENAI, "There is no provider opneai. Did you mean openai?"),
        ("anthropic/claude-opus-5", OPENAI, "Set ANTHROPIC_API_KEY, or key_env in [providers.anth"),
        ("anthropic/claude-opus-5", OPENROUTER, "Or write openrouter/anthropic/claude-opus-5."),
        ("qwen/qwen3-32b", OPENROUTER, "Did you mean openrouter/qwen/qwen3-32b?"),
        ("claude-opus-5", OPENAI | OPENROUTER, "Set ANTHROPIC_API_KEY"),
        ("azure/gpt-5", {}, "Set AZURE_OPENAI_API_KEY and AZURE_OPENAI_ENDPOINT"),
        ("compatible/heron", {}, "Add [providers.compatible] with its base_url to roost.toml"),
        ("heron", {}, "It is not clear who has the model heron"),
        ("zebra/heron", {}, "Write it as PROVIDER/zebra/heron"),
        ("ollama", {}, "Which model of ollama? Write it as ollama/MODEL"),
    ],
)
def test_name_that_is_not_found_says_what_to_do(
    reference: str, environ: dict[str, str], expected: str
) -> None:
    assert expected in complaint(reference, environ=environ)


def test_configured_model_that_can_not_be_used_names_the_setting() -> None:
    message = complaint(None, "[models]\ndefault = 'openai/gpt-5'")
    assert message.startswith(
        "The setting models.default can't be used. There is no key for openai."
    )
    with pytest.raises(ConfigError, match=r"models\.fallbacks"):
        providers("[models]\nfallbacks = ['openai/gpt-5']").fallbacks()


def test_configured_provider_without_a_key_says_which_variable_to_set() -> None:
    assert "Set OPENAI_API_KEY" in complaint("openai/gpt-5", "[providers.openai]")


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ("[providers.nest]", "The provider nest needs a vendor or a base_url"),
        ("[providers.nest]\nvendor = 'azure'", "The provider nest needs its base_url"),
        ("[providers.nest]\nvendor = 'compatible'", "The provider nest needs its base_url"),
    ],
)
def test_incomplete_provider_says_what_is_missing(toml: str, expected: str) -> None:
    assert expected in complaint(None, toml)


def test_key_of_a_vendor_is_used_for_its_address_only() -> None:
    assert providers("[providers.mine]\nvendor = 'openai'", OPENAI).key("mine") == Key("sk-openai")
    elsewhere = "[providers.mine]\nvendor = 'openai'\nbase_url = 'https://nest.example/v1'"
    assert providers(elsewhere, OPENAI).key("mine") is None
    home = "[providers.mine]\nvendor = 'openai'\nbase_url = 'https://api.openai.com/v1'"
    assert providers(home, OPENAI).key("mine") == Key("sk-openai")


def test_named_variable_that_is_empty_is_not_replaced_by_the_vendors_own() -> None:
    toml = "[providers.mine]\nvendor = 'openai'\nkey_env = 'MINE'"
    assert providers(toml, OPENAI).key("mine") is None


def test_address_in_the_environment_is_the_address() -> None:
    environ = OPENAI | {"OPENAI_BASE_URL": "http://nest.example/v1/"}
    target = providers(environ=environ).resolve("openai/heron")
    assert target.provider.base_url == "http://nest.example/v1"
    assert target.profile.wire == "openai-chat"
    same = providers(environ=OPENAI | {"OPENAI_BASE_URL": "https://api.openai.com/v1"})
    assert same.resolve("openai/heron").profile.wire == "openai-responses"


def test_host_alone_is_completed() -> None:
    azure = {"AZURE_OPENAI_API_KEY": "sk-1", "AZURE_OPENAI_ENDPOINT": "https://x.azure.example/"}
    target = providers(environ=azure).resolve("azure/mine")
    assert target.provider.base_url == "https://x.azure.example/openai/v1"
    environ = ANTHROPIC | {"ANTHROPIC_BASE_URL": "https://nest.example"}
    target = providers(environ=environ).resolve("anthropic")
    assert target.provider.base_url == "https://nest.example/v1"


def test_wire_may_be_chosen() -> None:
    toml = "[providers.openai]\nwire = 'openai-chat'"
    target = providers(toml, OPENAI).resolve("openai/gpt-5")
    assert target.profile.wire == "openai-chat"
    assert target.profile.effort == "reasoning_effort"


def test_keys_are_not_shown_with_their_provider() -> None:
    toml = NEST + "headers = { x-nest = 'sk-header' }"
    found = providers(toml, OPENAI)
    shown = repr(list(found)) + repr(found) + repr(found.resolve("heron"))
    assert "sk-" not in shown


def test_wrong_key_in_the_environment_is_named_but_not_repeated() -> None:
    message = complaint(None, environ={"OPENAI_API_KEY": "sk-ключ"})
    assert "OPENAI_API_KEY" in message
    assert "ключ" not in message


ADDED = Added(
    providers={"roost": ProviderConfig(base_url=BaseUrl("https://roost.example/v1"))},
    keys={"roost": Key("sk-roost")},
    chosen=Chosen(default="roost/wren", small="roost/owl"),
)


def test_added_providers_come_after_the_configured_ones() -> None:
    known = providers(NEST, OPENAI).extended(ADDED)
    assert [each.name for each in known][:3] == ["nest", "roost", "openai"]
    assert [known.origin(name) for name in ("nest", "roost", "openai", "ollama")] == [
        "configuration",
        "api",
        "environment",
        "usual",
    ]
    assert known.key("roost") == Key("sk-roost")
    assert str(known.default()) == "roost/wren"


def test_added_provider_is_the_default_only_once_it_is_chosen() -> None:
    unchosen = msgspec.structs.replace(ADDED, chosen=Chosen())
    assert str(providers().extended(unchosen).default()).startswith("local/")
    assert str(providers(environ=OPENAI).extended(unchosen).default()).startswith("openai/")
    assert str(providers().extended(ADDED).default()) == "roost/wren"


def test_configuration_goes_before_what_is_added() -> None:
    nest = {"nest": ProviderConfig(base_url=BaseUrl("https://other.example/v1"))}
    added = Added(
        providers=nest, keys={"nest": Key("sk-other")}, chosen=Chosen(default="nest/wren")
    )
    known = providers(f"{NEST}[models]\ndefault = 'nest/heron'\n").extended(added)
    found = known.find("nest")
    assert found is not None
    assert (found.base_url, known.key("nest")) == ("https://nest.example/v1", Key("sk-nest"))
    assert str(known.default()) == "nest/heron"


def test_added_server_takes_the_place_of_one_that_may_not_run() -> None:
    ollama = {"ollama": ProviderConfig(base_url=BaseUrl("http://nest:11434/v1"))}
    known = providers().extended(Added(providers=ollama))
    found = known.find("ollama")
    assert found is not None
    assert (found.base_url, known.origin("ollama")) == ("http://nest:11434/v1", "api")
    assert not known.may_be_added("local")


def test_key_of_the_environment_is_not_sent_to_what_was_added() -> None:
    own = {"mine": ProviderConfig(vendor="openai", base_url=BaseUrl("https://nest.example/v1"))}
    known = providers("", OPENAI).extended(Added(providers=own))
    assert known.key("mine") is None
    held = Providers({}, {"mine": Key("sk-mine")}).extended(Added(providers=own))
    assert held.key("mine") is None


def test_key_of_the_environment_is_not_led_elsewhere_by_what_is_added() -> None:
    elsewhere = {"openai": ProviderConfig(base_url=BaseUrl("https://nest.example/v1"))}
    base = providers("", OPENAI)
    assert not base.may_be_added("openai")
    found = base.extended(Added(providers=elsewhere)).find("openai")
    assert found is not None
    assert found.base_url == "https://api.openai.com/v1"


def test_credential_is_all_that_opens_a_provider() -> None:
    toml = NEST + "headers = { x-nest = 'one' }\n"
    others = [toml.replace("sk-nest", "sk-wren"), toml.replace("'one'", "'two'"), NEST]
    seen = {providers(each).credential(next(iter(providers(each)))) for each in (toml, *others)}
    assert len(seen) == 4


def test_file_that_nobody_set_up_is_strange() -> None:
    """Whoever asks for one by its name would have it read outside of any box."""
    toml = (
        "[models]\ndefault = 'local//models/a.gguf'\nsmall = '/models/b.gguf'\n"
        "[providers.local]\nmodels = ['/models/c.gguf']\n" + NEST
    )
    known = providers(toml)
    for name in ("a", "b", "c"):
        assert not known.is_strange_file(f"/models/{name}.gguf")
        assert not known.is_strange_file(f"local//models/{name}.gguf")
    for strange in ("/models/d.gguf", "local//models/d.gguf", "d.gguf", "~/a.gguf"):
        assert known.is_strange_file(strange)
    for other in ("local", "nest/heron.gguf", "heron", "/models/a.txt"):
        assert not known.is_strange_file(other)


def test_adopted_providers_leave_a_target_as_it_was() -> None:
    known = providers(NEST)
    target = known.resolve("nest/heron")
    known.adopt(known.copy().extended(ADDED))
    assert str(known.resolve("roost/wren")) == "roost/wren"
    assert known.resolve("nest/heron") == target
