"""What no tool call gets around: the rules of the configuration, and the secrets it holds."""

from collections.abc import Iterator

from roost.core.approvals import Rule, RuleDecision, parse_rule
from roost.core.config import ApprovalsConfig, Config
from roost.core.errors import ConfigError, InvalidInput
from roost.core.ids import RuleId
from roost.core.keys import Key
from roost.llm.providers import Providers


def rules_of(config: ApprovalsConfig) -> tuple[Rule, ...]:
    written: tuple[tuple[RuleDecision, tuple[str, ...]], ...] = (
        ("deny", config.deny),
        ("ask", config.ask),
        ("allow", config.allow),
    )
    return tuple([_rule(text, decision) for decision, texts in written for text in texts])


def _rule(text: str, decision: RuleDecision) -> Rule:
    try:
        return parse_rule(text, decision, id=RuleId("rul_config"))
    except InvalidInput as error:
        raise ConfigError(f"In approvals.{decision}: {error}") from error


def secrets_of(config: Config, providers: Providers) -> Iterator[str]:
    """Every key that Roost was given, whoever it is for."""
    tables = [config.memory.options, config.web.options]
    tables += [each.headers for each in config.providers.values()]
    tables += [each.headers for each in config.mcp.values()]
    tables += [each.options for each in config.channels.values()]
    kept: list[Key] = [key for table in tables for key in table.values()]
    kept += [key for each in config.mcp.values() for key in each.environment.values()]
    kept += [key for each in providers if (key := providers.key(each.name)) is not None]
    return (key.reveal() for key in kept)
