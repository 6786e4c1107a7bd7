"""Builds a session's agent from what is stored, and stores the prompt it begins with."""

from collections.abc import Iterable, Sequence
from functools import partial

import msgspec

from roost.agent.compaction import Compactor
from roost.agent.execution import Guard
from roost.agent.loop import Agent, Position
from roost.agent.masking import Mask
from roost.agent.model import Model
from roost.agent.prompt import freeze_tools, system_prompt, thaw_tools
from roost.core.approvals import Rule
from roost.core.errors import RoostError
from roost.core.ids import SessionId, Token, UserId
from roost.core.sessions import Session
from roost.core.signature import AgentConfig, Signature, signature
from roost.llm.clients import Clients
from roost.llm.prices import Prices
from roost.llm.providers import Providers, Target
from roost.llm.tokens import Estimator
from roost.runtime.persistence import persisted
from roost.store.sessions import Prompt
from roost.store.store import Store
from roost.tools.base import Toolbox
from roost.tools.toolsets import Toolsets


class Plan(msgspec.Struct, frozen=True):
    """What a session's agent is to be built from."""

    target: Target
    config: AgentConfig
    signature: Signature
    tools: Toolbox


class Builder:
    def __init__(
        self,
        store: Store,
        providers: Providers,
        clients: Clients,
        prices: Prices,
        tools: Toolsets,
        *,
        threshold: float,
        guard: Guard | None = None,
    ) -> None:
        """`threshold` is how full of a model's window a session may be before it is compacted."""
        self._store = store
        self.providers = self._providers = providers
        self.clients = self._clients = clients
        self.observers = clients.observers
        self.prices = self._prices = prices
        self.tools = self._tools = tools
        self._guard = guard or Guard(mask=Mask())
        self._estimator = Estimator()
        self._threshold = threshold

    def plan(
        self, session: Session, *, model: str | None = None, toolset: str | None = None
    ) -> Plan:
        """By what is named here, by the session's own choice, or by default. Raises if there is no
        such model."""
        config = session.config
        if config is None:
            return self.plan_for(model, "", toolset)
        model = model or f"{config.provider}/{config.model}"
        return self.plan_for(model, config.instructions, toolset or config.toolset)

    def plan_for(
        self, model: str | None, instructions: str = "", toolset: str | None = None
    ) -> Plan:
        target = self._providers.resolve(model)
        name = self._tools.named(toolset)
        tools = self._tools.of(name) if target.profile.tools else Toolbox(name=name)
        config = AgentConfig(
            provider=target.provider.name,
            model=target.model,
            protocol=target.profile.wire,
            base_url=target.provider.base_url,
            toolset=tools.name,
            instructions=instructions,
        )
        credential = self._providers.credential(target.provider)
        signed = signature(config, credential, key=self._store.signing_key)
        return Plan(target, config, signed, tools)

    @property
    def rules(self) -> Sequence[Rule]:
        """Those of the configuration, which hold for everyone."""
        return self._guard.rules

    def models(self) -> list[str]:
        """Those that can be asked and are known without asking, as provider/model."""
        return [str(target) for target in self._providers.known()]

    def is_tiny(self) -> bool:
        """Whether what does the small work is too small for most of it."""
        try:
            return (self._providers.small() or self._providers.default()).profile.brief
        except RoostError:
            return True  # a model that is not set up right can't be asked either

    def small_model(self, session: Session) -> Model:
        """Who does the small work for a session: its own model, unless there is one for that."""
        return self.model(self._providers.small() or self.plan(session).target)

    def model(self, target: Target) -> Model:
        return Model(
            target=target,
            client=self._clients.of(target),
            estimator=self._estimator,
            providers=self._providers,
            prices=self._prices,
            observers=self.observers,
        )

    def hide(self, secrets: Iterable[str]) -> None:
        """Keep these out of what tools answer, from now on."""
        self._guard.mask.learn(secrets)

    def compactor(self, target: Target) -> Compactor:
        small = self.model(self._providers.small() or target)
        return Compactor(self.model(target), small, threshold=self._threshold)

    def prompt(self, plan: Plan) -> Prompt:
        """What a session with this plan begins with."""
        has_tools = len(plan.tools) > 0
        system = system_prompt(
            plan.target.profile, tools=has_tools, instructions=plan.config.instructions
        )
        return Prompt(plan.signature, system, freeze_tools(plan.tools.schemas))

    async def build(self, plan: Plan, user: UserId, session: SessionId, token: Token) -> Agent:
        """The prompt comes from the store, byte for byte, while the configuration is the same."""
        self._prices.prepare(plan.target.provider)
        store = self._store.of(user)
        prompt = await store.sessions.prompt(session)
        if prompt is None or prompt.signature != plan.signature:
            prompt = await self.configure(plan, user, session, token)
        agent = Agent(
            self.model(plan.target),
            plan.tools,
            self.compactor(plan.target),
            guard=self._guard,
            signature=plan.signature,
            system=prompt.system,
            schemas=thaw_tools(prompt.tools),
        )
        found = await store.history.load(session)
        agent.load(found.messages, Position(found.session.epoch, found.session.head))
        return agent

    async def configure(self, plan: Plan, user: UserId, session: SessionId, token: Token) -> Prompt:
        """Make this the session's configuration, with a new prompt."""
        prompt = self.prompt(plan)
        sessions = self._store.of(user).sessions
        await persisted(partial(sessions.configure, session, token, plan.config, prompt))
        return prompt
