"""What a prompt cache would have hit."""

from collections.abc import Sequence

from anthropic.types import MessageParam, TextBlockParam
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam

from roost.testing.models import ModelServer
from roost.testing.models.prefix_cache import LOOKBACK, PrefixCache, count
from roost.testing.models.prompt import Segment
from tests.unit.testing.models.listening import Clients

SYSTEM: ChatCompletionMessageParam = {"role": "system", "content": "You are a test. " * 20}


def segments(*texts: str, marks: Sequence[int] = ()) -> list[Segment]:
    return [Segment(text.encode(), at in marks) for at, text in enumerate(texts)]


def user(text: str) -> ChatCompletionMessageParam:
    return {"role": "user", "content": text}


def assistant(text: str) -> ChatCompletionMessageParam:
    return {"role": "assistant", "content": text}


async def ask(clients: Clients, *messages: ChatCompletionMessageParam, model: str = "m") -> None:
    await clients.openai.chat.completions.create(model=model, messages=messages)


async def test_growing_conversation_hits_all_that_was_sent_before(
    server: ModelServer, clients: Clients
) -> None:
    await ask(clients, SYSTEM, user("one"))
    await ask(clients, SYSTEM, user("one"), assistant("1"), user("two"))
    first, second = server.requests
    assert first.cache.hit_tokens == 0
    assert first.cache.write_tokens == first.cache.prompt_tokens
    assert second.cache.hit_tokens == first.cache.prompt_tokens
    assert second.cache.earlier_prompt_tokens == first.cache.prompt_tokens
    assert second.cache.complete


async def test_changed_history_hits_only_what_stayed(server: ModelServer, clients: Clients) -> None:
    await ask(clients, SYSTEM, user("one"), assistant("1"), user("two"))
    await ask(clients, SYSTEM, user("another"), assistant("1"), user("two"))
    first, second = server.requests
    assert 0 < second.cache.hit_tokens < first.cache.prompt_tokens
    assert second.cache.earlier_prompt_tokens == first.cache.prompt_tokens
    assert not second.cache.complete


async def test_each_model_has_a_cache_of_its_own(server: ModelServer, clients: Clients) -> None:
    await ask(clients, SYSTEM, user("one"))
    await ask(clients, SYSTEM, user("one"), model="other")
    assert server.requests[1].cache.hit_tokens == 0


async def test_text_and_a_text_block_are_the_same_prompt(
    server: ModelServer, clients: Clients
) -> None:
    await ask(clients, user("one"))
    await ask(clients, {"role": "user", "content": [{"type": "text", "text": "one"}]})
    assert server.requests[1].cache.complete


async def test_order_of_keys_is_part_of_the_prompt(server: ModelServer, clients: Clients) -> None:
    await ask(clients, {"role": "user", "content": [{"type": "text", "text": "one"}]})
    await ask(clients, {"role": "user", "content": [{"text": "one", "type": "text"}]})
    assert server.requests[1].cache.hit_tokens == 0


async def test_usage_reports_the_hit(server: ModelServer, clients: Clients) -> None:
    for protocol in ("chat", "responses"):
        await clients.ask(protocol)
        heard = await clients.ask(protocol)
        assert heard.usage is not None
        assert heard.usage[0] == heard.usage[1] > 0


async def ask_anthropic(clients: Clients, *texts: str, marked: bool = True) -> tuple[int, int, int]:
    """Input, read from the cache, written to it."""
    blocks: list[TextBlockParam] = [{"type": "text", "text": text} for text in texts]
    if marked:
        blocks[-1]["cache_control"] = {"type": "ephemeral"}
    messages: list[MessageParam] = [{"role": "user", "content": blocks}]
    answer = await clients.anthropic.messages.create(model="m", max_tokens=9, messages=messages)
    usage = answer.usage
    read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    return usage.input_tokens, read or 0, written or 0


async def test_anthropic_caches_up_to_the_mark(server: ModelServer, clients: Clients) -> None:
    first = await ask_anthropic(clients, "one " * 50)
    second = await ask_anthropic(clients, "one " * 50, "two " * 50)
    assert first == (0, 0, server.requests[0].cache.prompt_tokens)
    assert second[1] == server.requests[0].cache.prompt_tokens
    assert second[2] == server.requests[1].cache.prompt_tokens - second[1]
    assert server.requests[1].cache.complete


async def test_anthropic_caches_nothing_without_a_mark(
    server: ModelServer, clients: Clients
) -> None:
    await ask_anthropic(clients, "one", marked=False)
    assert await ask_anthropic(clients, "one", marked=False) == (
        server.requests[1].cache.prompt_tokens,
        0,
        0,
    )
    assert server.requests[1].cache.prefix_bytes > 0


def test_mark_is_found_only_so_far_back() -> None:
    for distance, hit in ((LOOKBACK - 1, True), (LOOKBACK, False)):
        cache = PrefixCache(automatic=False)
        cache.store(segments("begin", marks=[0]))
        long = segments("begin", *["x"] * distance, marks=[distance])
        assert (cache.look(long).hit_tokens > 0) is hit


def test_common_bytes_go_into_the_segment_that_differs() -> None:
    cache = PrefixCache(automatic=True)
    cache.store(segments("abcd", "efgh"))
    assert cache.look(segments("abcd", "efxx")).prefix_bytes == 6
    assert cache.look(segments("abcd", "efxx")).hit_tokens == 1
    assert cache.look(segments("xbcd")).prefix_bytes == 0


@given(st.lists(st.lists(st.sampled_from(["aaaa", "aabb", "bbbb", "cc"]), min_size=1), min_size=2))
def test_cache_agrees_with_comparing_every_pair(prompts: list[list[str]]) -> None:
    cache = PrefixCache(automatic=True)
    for at, prompt in enumerate(prompts):
        earlier = [_shared(prompt, other) for other in prompts[:at]]
        assert cache.look(segments(*prompt)).hit_tokens == count(max(earlier, default=0))
        cache.store(segments(*prompt))


def _shared(one: list[str], other: list[str]) -> int:
    size = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        size += len(mine)
    return size
