"""The configuration, its order of sources, and what it says about mistakes."""

from datetime import timedelta
from pathlib import Path

import pytest

from roost.core.config import (
    Config,
    McpConfig,
    MemoryConfig,
    PriceConfig,
    ProviderConfig,
    ToolsConfig,
    WebConfig,
    WorkspacesConfig,
)
from roost.core.errors import ConfigError, SettingWrong
from roost.core.keys import Key
from roost.core.loading import VARIABLES, ConfigFile, load, load_keys, xdg_folder
from roost.core.settings import BaseUrl, Count, Dollars, ScopeName, VariableName, duration

HOME = {"HOME": "/home/wren"}
FILE = Path("/etc/roost/roost.toml")
DOCS = Path(__file__).parents[3] / "docs" / "configuration.md"


def configured(
    toml: str = "", environ: dict[str, str] | None = None, **flags: str | None
) -> Config:
    named = {"--" + name.replace("_", "-"): value for name, value in flags.items()}
    return load(ConfigFile(FILE, toml), HOME | (environ or {}), named)


def complaint(toml: str = "", environ: dict[str, str] | None = None, **flags: str | None) -> str:
    with pytest.raises(ConfigError) as caught:
        configured(toml, environ, **flags)
    return str(caught.value)


def test_defaults_need_nothing_but_a_home() -> None:
    config = load(None, HOME, {})
    assert config.data == Path("/home/wren/.local/share/roost")
    assert (config.server.host, config.server.port) == ("127.0.0.1", 7667)
    assert config.log.level == "info"
    assert config.leases.ttl == timedelta(seconds=30)
    assert config.retention.idempotency_keys == timedelta(days=7)
    assert config.retention.inbox == config.retention.events == timedelta(days=30)


def test_later_sources_win() -> None:
    toml = "[server]\nport = 1001\nhost = 'a'\n[log]\nlevel = 'error'"
    environ = {"ROOST_SERVER_PORT": "1002", "ROOST_SERVER_HOST": "b"}
    config = configured(toml, environ, port="1003")
    assert (config.log.level, config.server.host, config.server.port) == ("error", "b", 1003)


def test_flags_not_given_change_nothing() -> None:
    assert configured("[server]\nport = 1001", port=None).server.port == 1001


def test_every_setting_can_be_given_in_the_environment() -> None:
    given = {
        "ROOST_DATA": "/d",
        "ROOST_STORE": "postgresql://roost:secret@db.nest/roost",
        "ROOST_STORE_DIRECT": "postgresql://roost:secret@db.nest:5433/roost",
        "ROOST_SERVER_HOST": "h",
        "ROOST_SERVER_PORT": "0",
        "ROOST_LOG_LEVEL": "debug",
        "ROOST_LEASES_TTL": "1m",
        "ROOST_RETENTION_IDEMPOTENCY_KEYS": "1h",
        "ROOST_RETENTION_INBOX": "2h",
        "ROOST_RETENTION_EVENTS": "3h",
        "ROOST_MODELS_DEFAULT": "nest/heron",
        "ROOST_MODELS_FALLBACKS": "nest/egret, nest/stork",
        "ROOST_MODELS_SMALL": "nest/wren",
        "ROOST_SERVER_GRACE": "5s",
        "ROOST_SERVER_NAMES": "roost.example, nest",
        "ROOST_SERVER_PROXIES": "10.0.0.0/8",
        "ROOST_SERVER_TLS_CERT": "/cert.pem",
        "ROOST_SERVER_TLS_KEY": "/key.pem",
        "ROOST_AGENTS_MAX": "16",
        "ROOST_AGENTS_IDLE_TTL": "4h",
        "ROOST_APPROVALS_TTL": "5h",
        "ROOST_APPROVALS_ALLOW": "terminal: git status, fetch",
        "ROOST_APPROVALS_ASK": "browser",
        "ROOST_APPROVALS_DENY": "terminal: rm *",
        "ROOST_TOOLS_TOOLSET": "files",
        "ROOST_TOOLS_SUBAGENTS": "3",
        "ROOST_TOOLS_SUBAGENT_DEPTH": "1",
        "ROOST_WORKSPACES_SANDBOX": "none",
        "ROOST_WORKSPACES_IDLE_TTL": "13h",
        "ROOST_WORKSPACES_READ": "/r",
        "ROOST_WORKSPACES_WRITE": "/w, /x",
        "ROOST_WORKSPACES_PROCESSES": "64",
        "ROOST_WORKSPACES_MEMORY": "512",
        "ROOST_WORKSPACES_DISK_FLOOR": "100",
        "ROOST_WEB_SEARCH": "searxng",
        "ROOST_WEB_URL": "http://search.nest",
        "ROOST_WEB_BROWSER": "no",
        "ROOST_COMPACTION_THRESHOLD": "60",
        "ROOST_COMPACTION_IDLE": "8m",
        "ROOST_MEMORY_PROVIDER": "openviking",
        "ROOST_MEMORY_PROFILE": "work",
        "ROOST_MEMORY_IDLE_COMMIT": "9m",
        "ROOST_MEMORY_TIMEOUT": "11s",
        "ROOST_MEMORY_GRACE": "12s",
        "ROOST_RECOVERY_AUTO_CONTINUE": "6h",
        "ROOST_LIMITS_TURN_STEPS": "7",
        "ROOST_LIMITS_TURN_TIME": "7m",
        "ROOST_LIMITS_TURN_TOKENS": "1000000",
        "ROOST_LIMITS_TURN_COST": "0.5",
        "ROOST_LIMITS_SESSION_TOKENS": "2000000",
        "ROOST_LIMITS_SESSION_COST": ".25",
        "ROOST_LIMITS_DAY_TOKENS": "3000000",
        "ROOST_LIMITS_DAY_COST": "12",
        "ROOST_LIMITS_FILES_MB": "500",
    }
    config = configured(environ=given)
    assert given.keys() == VARIABLES.keys()
    assert (config.data, config.server.host, config.server.port) == (Path("/d"), "h", 0)
    assert config.store is not None
    assert config.store.reveal() == given["ROOST_STORE"]
    assert str(config.store_direct) == "roost on db.nest:5433"
    assert "secret" not in repr(config)
    assert (config.log.level, config.leases.ttl) == ("debug", timedelta(minutes=1))
    assert config.retention.idempotency_keys == timedelta(hours=1)
    assert config.retention.inbox == timedelta(hours=2)
    assert config.retention.events == timedelta(hours=3)
    assert config.models.default == "nest/heron"
    assert config.models.fallbacks == ("nest/egret", "nest/stork")
    assert config.models.small == "nest/wren"
    assert config.approvals.allow == ("terminal: git status", "fetch")
    assert (config.approvals.ask, config.approvals.deny) == (("browser",), ("terminal: rm *",))
    assert config.tools == ToolsConfig(toolset="files", subagents=Count(3), subagent_depth=Count(1))
    assert config.workspaces == WorkspacesConfig(
        sandbox="none",
        idle_ttl=timedelta(hours=13),
        read=("/r",),
        write=("/w", "/x"),
        processes=Count(64),
        memory=Count(512),
        disk_floor=Count(100),
    )
    assert config.web == WebConfig(
        search="searxng", url=BaseUrl("http://search.nest"), browser="no"
    )
    assert config.server.grace == timedelta(seconds=5)
    assert config.server.names == ("roost.example", "nest")
    assert config.server.proxies == ("10.0.0.0/8",)
    assert (config.server.tls_cert, config.server.tls_key) == ("/cert.pem", "/key.pem")
    assert (config.agents.max, config.agents.idle_ttl) == (16, timedelta(hours=4))
    assert config.approvals.ttl == timedelta(hours=5)
    assert (config.compaction.threshold, config.compaction.idle) == (60, timedelta(minutes=8))
    assert config.memory == MemoryConfig(
        provider=ScopeName("openviking"),
        profile=ScopeName("work"),
        idle_commit=timedelta(minutes=9),
        timeout=timedelta(seconds=11),
        grace=timedelta(seconds=12),
    )
    assert config.recovery.auto_continue == timedelta(hours=6)
    limits = config.limits
    assert (limits.turn_steps, limits.turn_time) == (7, timedelta(minutes=7))
    assert (limits.turn_tokens, limits.turn_cost) == (1_000_000, 0.5)
    assert (limits.session_tokens, limits.session_cost) == (2_000_000, 0.25)
    assert (limits.day_tokens, limits.day_cost) == (3_000_000, 12)
    assert limits.files_mb == 500


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many"])
def test_count_is_a_whole_number_from_one_on(text: str) -> None:
    with pytest.raises(SettingWrong, match="a whole number from 1 on"):
        configured(environ={"ROOST_AGENTS_MAX": text})


@pytest.mark.parametrize("text", ["-1", "1,5", "much", "1e3"])
def test_money_is_dollars(text: str) -> None:
    with pytest.raises(SettingWrong, match=r"dollars, such as 2\.5"):
        configured(environ={"ROOST_LIMITS_DAY_COST": text})


@pytest.mark.parametrize("text", ["Work", "a/b", "../x", "-a", "a b", "ä"])
def test_profile_of_a_memory_is_a_plain_name(text: str) -> None:
    with pytest.raises(SettingWrong, match="a name in small letters"):
        configured(environ={"ROOST_MEMORY_PROFILE": text})


def test_options_of_a_memory_are_its_own_and_not_printed() -> None:
    config = configured("[memory.options]\nbase_url = 'http://nest'\nkey = 'nightjar'")
    assert config.memory.options == {"base_url": Key("http://nest"), "key": Key("nightjar")}
    assert "nightjar" not in repr(config)


def test_every_setting_is_in_the_documentation() -> None:
    page = DOCS.read_text(encoding="utf-8")
    for variable, key in VARIABLES.items():
        assert f"| `{key}` |" in page
        assert f"| `{variable}` |" in page
    assert "`ROOST_SECRET_KEY`" in page


def test_variables_that_are_no_settings_are_left_alone() -> None:
    other = {"ROOST_CONFIG": "x", "ROOST_SECRET_KEY": "x", "ROOST_FAULTS": "x", "ROOSTER": "x"}
    assert configured(environ=other) == configured()


def test_empty_variable_is_not_set() -> None:
    assert configured(environ={"ROOST_DATA": "", "ROOST_SERVER_PORT": ""}) == configured()


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ("[server]\nport = 'abc'", "server.port (from {file}) is wrong: expected a whole number"),
        ("[server]\nport = '80'", "expected a whole number from 0 to 65535, got '80'"),
        ("[server]\nport = 65536", "got 65536"),
        ("[server]\nport = true", "got true"),
        ("[server]\nport = 1.5", "got 1.5"),
        ("[server.port]\nx = 1", "server.port (from {file}) is wrong"),
        ("[server]\nhost = 5", "server.host (from {file}) is wrong: expected text, got 5"),
        ("server = 5", "expected a section, [server], got 5"),
        ("data = ''", "data (from {file}) is wrong: expected a folder, got ''"),
        ('data = "a\\u0000b"', "expected a folder"),
        ("[log]\nlevel = 'loud'", "expected one of debug, info, warning, error, got 'loud'"),
        ("[log]\nlevel = ['info']", "got ['info']"),
        ("[leases]\nttl = 30", 'expected a duration such as "30s", "15m", "1h" or "7d", got 30'),
        ("[leases]\nttl = 'soon'", "leases.ttl (from {file}) is wrong"),
        ("not toml", "{file} is not valid TOML"),
        ("[models]\nfallbacks = 'a'", "models.fallbacks (from {file}) is wrong: expected a list"),
        ("[models]\nfallbacks = [1]", "got [1]"),
        ("[models.prices.'n/h-1.5']\ninput = 'x'", 'models.prices."n/h-1.5".input (from {file})'),
        ("[models.prices.'n/h']\ninput = -1\noutput = 1", "expected dollars for a million tokens"),
        ("[models]\nprices = 5", "expected a section, [models.prices]"),
        ("providers = 5", "expected a section, [providers], got 5"),
        ("[providers]\nnest = 5", "expected a section, [providers.nest]"),
        (
            "[providers.nest]\nvendor = 'opneai'",
            "providers.nest.vendor (from {file}) is wrong: exp",
        ),
        ("[providers.nest]\nwire = 'soap'", "one of openai-chat, openai-responses, anthropic, got"),
        ("[providers.nest]\nbase_url = 'nest'", "expected an address such as"),
        ("[providers.nest]\nmodels = 'heron'", "providers.nest.models (from {file}) is wrong"),
    ],
)
def test_wrong_value_names_key_file_and_expected_type(toml: str, expected: str) -> None:
    assert expected.format(file=FILE) in complaint(toml)


@pytest.mark.parametrize("proxy", ["foo", "10.0.0.0/33", "10.0.0.1:80", "my-proxy.example"])
def test_proxy_that_is_no_address_is_wrong_before_anything_starts(proxy: str) -> None:
    said = "server.proxies (from {}) is wrong: expected a list of addresses or networks"
    in_variable = complaint(environ={"ROOST_SERVER_PROXIES": f"127.0.0.1, {proxy}"})
    assert said.format("ROOST_SERVER_PROXIES") in in_variable
    assert said.format(FILE) in complaint(f"[server]\nproxies = ['{proxy}']")


@pytest.mark.parametrize(
    "name", ["http://roost.example", "roost.example:80", "roost.example/", "*.example", "a b", "ü"]
)
def test_name_that_no_request_could_come_to_is_wrong(name: str) -> None:
    said = complaint(f"[server]\nnames = ['{name}']")
    assert f"server.names (from {FILE}) is wrong: expected a list of host names" in said


def test_names_and_proxies_may_be_addresses_of_either_kind() -> None:
    toml = "[server]\nnames = ['A_b-1.example.', '10.0.0.1', 'fd00::7', '[fd00::7]']\n"
    server = configured(toml + "proxies = ['::1', 'fd00::/8', '10.0.0.1/8']").server
    assert server.names == ("A_b-1.example.", "10.0.0.1", "fd00::7", "[fd00::7]")
    assert server.proxies == ("::1", "fd00::/8", "10.0.0.1/8")


def test_wrong_variable_and_flag_are_named() -> None:
    from_variable = complaint(environ={"ROOST_SERVER_PORT": "abc"})
    assert "server.port (from ROOST_SERVER_PORT) is wrong" in from_variable
    assert "got 'abc'" in from_variable
    assert "log.level (from --log-level) is wrong" in complaint(log_level="loud")


def test_number_too_long_for_python_is_just_wrong() -> None:
    assert "expected a whole number" in complaint(port="9" * 5000)


def test_wrong_value_that_is_overridden_is_still_an_error() -> None:
    assert "server.port" in complaint("[server]\nport = 'abc'", port="8000")


def test_long_wrong_value_is_cut() -> None:
    assert len(complaint(f"[log]\nlevel = '{'x' * 5000}'")) < 250


@pytest.mark.parametrize(
    ("toml", "unknown", "hint"),
    [
        ("[server]\nprot = 1", "server.prot", "Did you mean server.port?"),
        ("port = 1", "port", "Did you mean server.port?"),
        ("[sever]\nport = 1", "sever", "Did you mean server?"),
        ("[server]\nlevel = 'info'", "server.level", "Did you mean log.level?"),
        ("zzz = 1", "zzz", ""),
        (
            "[providers.n]\nbaseurl = ''",
            "providers.n.baseurl",
            "Did you mean providers.n.base_url?",
        ),
        ("[providers.n]\nport = 1", "providers.n.port", "Did you mean server.port?"),
        ("vendor = 'x'", "vendor", "Did you mean providers.NAME.vendor?"),
        ("[model]\ndefault = 'x'", "model", "Did you mean models?"),
        (
            "[models.prices.'n/h']\ninptu = 1",
            'models.prices."n/h".inptu',
            'Did you mean models.prices."n/h".input?',
        ),
    ],
)
def test_unknown_key_is_named_with_its_file_and_a_suggestion(
    toml: str, unknown: str, hint: str
) -> None:
    message = complaint(toml)
    assert message == f"There is no setting {unknown} (from {FILE}). {hint}".rstrip()


@pytest.mark.parametrize(
    ("variable", "hint"),
    [
        ("ROOST_SEVER_PORT", " Did you mean ROOST_SERVER_PORT?"),
        ("ROOST_PORT", " Did you mean ROOST_SERVER_PORT?"),
        ("ROOST_FOO", ""),
    ],
)
def test_unknown_variable_is_named_with_a_suggestion(variable: str, hint: str) -> None:
    message = complaint(environ={variable: "1"})
    assert message == f"There is no setting {variable} (from the environment).{hint}"


def test_data_folder_follows_xdg() -> None:
    assert configured(environ={"XDG_DATA_HOME": "/x"}).data == Path("/x/roost")
    assert configured(environ={"XDG_DATA_HOME": "rel"}).data == configured().data
    assert xdg_folder({}, "XDG_DATA_HOME", ".local/share") is None


def test_data_folder_in_the_file_is_relative_to_the_file() -> None:
    assert configured("data = 'here'").data == FILE.parent / "here"
    assert configured("data = '~/here'").data == Path("/home/wren/here")
    assert configured("data = '.'", data="~").data == Path("/home/wren")


def test_without_a_home_the_data_folder_must_be_named() -> None:
    with pytest.raises(ConfigError, match="--data"):
        load(None, {}, {})
    assert load(None, {}, {"--data": "/d"}).data == Path("/d")


def test_nothing_goes_on_by_itself_if_that_is_chosen() -> None:
    assert not configured("[recovery]\nauto_continue = '0s'").recovery.auto_continue
    assert not configured(environ={"ROOST_RECOVERY_AUTO_CONTINUE": "0s"}).recovery.auto_continue
    said = complaint("[recovery]\nauto_continue = '0'")
    assert 'expected a duration such as "15m" or "1h", or "0s" for none' in said


@pytest.mark.parametrize(
    ("text", "seconds"), [("1s", 1), ("30s", 30), ("15m", 900), ("1h", 3600), ("7d", 604800)]
)
def test_durations_are_a_number_and_a_unit(text: str, seconds: int) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "s", "30", "0s", "-1s", "1.5h", "1w", "1h30m", " 1s", "1S", "9" * 30 + "d", "٣s"]
)
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        duration(text)


NEST = """
[models]
default = "nest/heron"
fallbacks = ["openai/gpt-5"]

[models.prices."nest/heron-1.5"]
input = 2
output = 10.5

[providers.nest]
vendor = "compatible"
base_url = "https://nest.example/v1/"
key = "sk-nightjar"
models = ["heron"]
headers = { X-Team = "birds" }

[providers.openai]
"""


def test_providers_and_prices_are_read_by_the_names_they_are_given() -> None:
    config = configured(NEST)
    assert config.models.prices == {"nest/heron-1.5": PriceConfig(Dollars(2), Dollars(10.5))}
    assert list(config.providers) == ["nest", "openai"]
    assert config.providers["openai"] == ProviderConfig()
    nest = config.providers["nest"]
    assert (nest.vendor, nest.base_url) == ("compatible", BaseUrl("https://nest.example/v1"))
    assert (nest.models, nest.headers) == (("heron",), {"x-team": Key("birds")})


def test_price_needs_both_sides() -> None:
    message = complaint("[models.prices.'n/h']\ninput = 1")
    assert message == f'The section [models.prices."n/h"] (in {FILE}) lacks output.'


def test_keys_are_not_in_the_configuration() -> None:
    config = configured(NEST)
    assert "nightjar" not in repr(config)
    assert "birds" not in repr(config)
    assert not hasattr(config.providers["nest"], "key")
    assert load_keys(ConfigFile(FILE, NEST), {}) == {"nest": Key("sk-nightjar")}


def test_key_may_be_named_by_its_variable() -> None:
    toml = "[providers.nest]\nkey_env = 'NEST_KEY'"
    assert configured(toml).providers["nest"].key_env == VariableName("NEST_KEY")
    assert load_keys(ConfigFile(FILE, toml), {"NEST_KEY": "sk-1"}) == {"nest": Key("sk-1")}
    assert load_keys(ConfigFile(FILE, toml), {"NEST_KEY": ""}) == {}
    assert load_keys(None, {"NEST_KEY": "sk-1"}) == {}


@pytest.mark.parametrize(
    "toml",
    [
        "[providers.nest]\nkey = ['sk-nightjar']",
        "[providers.nest]\nkey = 'sk-nightjar ключ'",
        "[providers.nest]\nkey_env = 'sk-nightjar'",
        "[providers.nest]\nbase_url = 'https://me:nightjar@nest.example'",
        "[providers.nest]\nheaders = { authorization = ['nightjar'] }",
        "[providers.nest]\nheaders = 'nightjar'",
        "[providers]\nkey = 'sk-nightjar'",
    ],
)
def test_wrong_key_is_named_but_not_repeated(toml: str) -> None:
    message = complaint(toml)
    assert "providers." in message
    assert str(FILE) in message
    assert "nightjar" not in message


def test_wrong_key_in_a_variable_names_the_variable_but_does_not_repeat_it() -> None:
    toml = "[providers.nest]\nkey_env = 'NEST_KEY'"
    with pytest.raises(ConfigError) as caught:
        load_keys(ConfigFile(FILE, toml), {"NEST_KEY": "sk\nnightjar"})
    assert "NEST_KEY" in str(caught.value)
    assert "nightjar" not in str(caught.value)


def test_password_that_cuts_the_address_of_the_store_short_is_said_how_to_write() -> None:
    message = complaint(environ={"ROOST_STORE": "postgresql://roost:night/jar@db.nest/roost"})
    assert "store (from ROOST_STORE) is wrong" in message
    assert "%2F for a / in its password, %23 for #" in message
    assert "night" not in message


def test_two_keys_for_one_provider_are_one_too_many() -> None:
    toml = "[providers.nest]\nkey = 'sk-1'\nkey_env = 'NEST_KEY'"
    with pytest.raises(ConfigError, match="both key and key_env"):
        load_keys(ConfigFile(FILE, toml), {"NEST_KEY": "sk-2"})


def test_every_setting_of_a_provider_is_in_the_documentation() -> None:
    page = DOCS.read_text(encoding="utf-8")
    for name in (*ProviderConfig.__struct_fields__, "key"):
        assert f"| `providers.NAME.{name}` |" in page
    for name in PriceConfig.__struct_fields__:
        assert f'| `models.prices."PROVIDER/MODEL".{name}` |' in page


def test_servers_of_tools_keep_the_names_of_their_variables_and_say_no_secret() -> None:
    toml = "[mcp.github]\ncommand = ['npx', 'mcp']\nenvironment = { GH_TOKEN = 'nightjar' }"
    server = configured(toml).mcp["github"]
    assert server.command == ("npx", "mcp")
    assert server.environment == {VariableName("GH_TOKEN"): Key("nightjar")}
    assert "nightjar" not in repr(server)
    said = complaint("[mcp.github]\nenvironment = { 'a-b' = 'nightjar' }")
    assert "nightjar" not in said


def test_every_setting_of_a_server_of_tools_is_in_the_documentation() -> None:
    page = DOCS.read_text(encoding="utf-8")
    for name in McpConfig.__struct_fields__:
        assert f"| `mcp.NAME.{name}` |" in page
