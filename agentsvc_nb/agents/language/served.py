"""Models ready to be called, made from the operator's choice (only this module loads a provider's library); and how a
model's answer ended: whole, cut, held back, or lost on its way (docs/decisions/0026).
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from inspect import signature
from typing import Any, Final, get_args

from pydantic_ai.exceptions import UnexpectedModelBehavior, UserError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import KnownModelName, Model, infer_model
from pydantic_ai.models.openai import (
    OpenAIChatModel,
    OpenAIChatModelSettings,
    OpenAIResponsesModel,
    OpenAIResponsesModelSettings,
)
from pydantic_ai.profiles import ModelProfile, merge_profile
from pydantic_ai.profiles.anthropic import ANTHROPIC_THINKING_BUDGET_MAP
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings, merge_model_settings
from pydantic_ai.usage import RequestUsage

from agentsvc_nb.agents.language.chat_templates import abilities
from agentsvc_nb.agents.language.event_streams import repairing_client
from agentsvc_nb.agents.language.lengths import ANSWER_PART
from agentsvc_nb.agents.language.model_choice import (
    CONTEXT_TOKENS,
    MissingRequirement,
    ModelChoice,
    NotConfigured,
    own_server,
)
from agentsvc_nb.agents.language.patience import Away
from agentsvc_nb.model_names import address_variable, key_variable
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.wire.proxies import settings_at_fault
from agentsvc_nb.wire.runs import CENT, Effort

LOST: Final = "The model's answer broke off in the middle: the connection to its server ended."
NO_KEY: Final = "none"
"""Sent to a server that wants no key: libraries want one."""
_OLDER_HTTP: Final = frozenset({"cohere", "github", "groq", "huggingface"})
"""Providers whose libraries take no client of httpx2."""
_LOOPBACK: Final = "http://127.0.0.1"
_NO_REASON: Final = frozenset({"xai"})
"""Providers whose library does not pass on the finish reason."""
_UNEXPLAINED: Final = frozenset({"OTHER"})
"""Reasons that say that there was an end, but not why: nothing tells whether the answer is whole."""
_MALFORMED: Final = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"})
"""Google's reasons in place of a call that can't be read; other providers pass the call on as it is."""


def check(response: ModelResponse) -> None:
    """Raises `WorkFailure` for an answer that was held back, or that its provider could not end."""
    said = response.provider_details or {}
    if response.finish_reason == "content_filter":
        reason = said.get("finish_reason") or said.get("block_reason") or "content filter"
        if refusal := said.get("refusal") or said.get("refusal_category") or (reason == "refusal" and "without a word"):
            raise WorkFailure("answer_refused", f"The model refused to answer: {refusal}")
        raise WorkFailure("content_filtered", f"The provider's filter held the answer back: {reason}")
    reason = said.get("finish_reason", "error")
    unexplained = response.finish_reason is None and reason in _UNEXPLAINED
    if (response.finish_reason == "error" or unexplained) and response.text and not response.tool_calls:
        if is_malformed(response):
            raise Away("The model broke its answer off for a call of a tool that was not readable.")
        raise WorkFailure("model_failed", f"The model's provider ended the answer with an error: {reason}")


def is_malformed(response: ModelResponse) -> bool:
    """Whether the answer ended with a call that its provider could not read, and that is not in it."""
    return (response.provider_details or {}).get("finish_reason") in _MALFORMED


def is_lost(response: ModelResponse) -> bool:
    """Whether the stream ended without a finish reason, which the library reports as `stop` for OpenAI's chat
    completions."""
    said = response.provider_details or {}
    if said.get("finish_reason") or response.finish_reason not in (None, "stop"):
        return False
    return response.finish_reason is None or response.provider_name not in _NO_REASON


@contextlib.contextmanager
def readable() -> Iterator[None]:
    """Raises `Away` for a stream that is empty or can't be read."""
    try:
        yield
    except UnexpectedModelBehavior as error:
        raise Away(f"The model's server sent no answer: {error.message}") from error


def _unretried(model: Model) -> Model:
    """The same model, whose library does not ask again by itself: nobody would see it wait."""
    client: Any = getattr(model, "client", None)
    if hasattr(client, "max_retries"):
        client.max_retries = 0
    return model


SMALL_BYTES: Final = 1_000_000_000
"""A model in a smaller file can't choose among tools, and is offered none."""
SMALL_TEMPERATURE: Final = 0.2
"""For small models, which lose the thread at higher temperatures."""


_MANY: Final = 1_000
"""Tokens of a short call: longer ones cost more at some providers."""
FIRST_EVENT_SECONDS: Final = 300.0
SILENCE_SECONDS: Final = 120.0
"""How long a stream that has begun may be silent; the pings of some providers are no silence."""


def settings_of(served: Served, answer: int, effort: Effort | None = None) -> ModelSettings:
    """Return the settings of one call. `answer`: the most tokens that the model may write, thinking included."""
    # What is the same from call to call is marked for the provider to cache, where it takes marks.
    found = ModelSettings(first_event_timeout=FIRST_EVENT_SECONDS, cache=True, **(served.settings or {}))
    found["max_tokens"] = answer
    # Older Claudes refuse a call whose answer is shorter than the thinking that they are asked for.
    adaptive = served.model.profile.get("anthropic_supports_adaptive_thinking", True)
    if effort is not None and (adaptive or answer > ANTHROPIC_THINKING_BUDGET_MAP[effort]):
        found["thinking"] = effort
    if "timeout" not in served.model.unsupported_settings:
        found["timeout"] = SILENCE_SECONDS
    return merge_model_settings(found, _of_openai(served.model)) or found


def _of_openai(model: Model) -> ModelSettings | None:
    """Settings of models that are asked in a form of OpenAI's."""
    if isinstance(model, OpenAIResponsesModel):
        return OpenAIResponsesModelSettings(openai_store=False)  # it would keep each request and answer for 30 days
    if isinstance(model, OpenAIChatModel):
        # Some servers repeat the usage so far in each chunk: the last one counts. The setting would also ask for that
        # repetition, which OpenAI does not know, so the request has options of its own.
        only_last = {"stream_options": {"include_usage": True}}
        return OpenAIChatModelSettings(openai_continuous_usage_stats=True, extra_body=only_last)
    return None


_PACKAGE: Final = re.compile(r'pip install "([^"]+)"')
_VARIABLE: Final = re.compile(r"`([A-Z][A-Z0-9_]+)`")


@dataclass(frozen=True, slots=True)
class Served:
    """A model that can be called. `context`: tokens that a call may hold; `sees`: it takes pictures; `tools`: it can
    choose among tools."""

    model: Model
    context: int
    sees: bool
    tools: bool
    settings: ModelSettings | None = None
    hosted: bool = False
    """The model is a provider's, on its machines."""
    keyless: bool = False
    """The model is called without a key."""
    price: tuple[float, float] | None = None
    """Cents a million tokens of input and of output, when the published prices don't count."""


def at_url(choice: ModelChoice, url: str, key: str) -> Served:
    """The model of a self-hosted server that speaks OpenAI's chat completions, as Ollama, vLLM and llama.cpp do."""
    provider, _, name = choice.model.partition(":")
    profile = OpenAIModelProfile(supports_json_schema_output=True, openai_supports_strict_tool_definition=False)
    if provider == "ollama":  # it knows the older name alone, and ignores the newer one
        profile["openai_chat_supports_max_completion_tokens"] = False
    client = repairing_client(url)
    model = OpenAIChatModel(name, provider=OpenAIProvider(url, key, http_client=client), profile=profile)
    context = choice.context or CONTEXT_TOKENS
    settings = ModelSettings(max_tokens=context // ANSWER_PART)
    able = abilities(choice)
    tools = able.tools is not False if choice.tools is None else choice.tools
    sees = bool(able.sees if choice.sees is None else choice.sees)
    return Served(_unretried(model), context, sees, tools, settings, price=choice.price)


def local(choice: ModelChoice, url: str, key: str, context: int) -> Served:
    """The model of the local engine, which holds `context` tokens."""
    assert choice.gguf is not None
    found = at_url(replace(choice, context=context), url, key)
    small = choice.gguf.stat().st_size < SMALL_BYTES
    settings = ModelSettings(max_tokens=context // ANSWER_PART)
    if small:
        settings["temperature"] = SMALL_TEMPERATURE
    return replace(found, tools=found.tools and not (small and choice.tools is None), settings=settings)


def by_name(choice: ModelChoice) -> Served:
    """The model of a self-hosted server, if the choice names one; else of a provider that the agent library knows, at
    the choice's address or the one in the provider's own environment variables, where the key is, too.

    Raises `NotConfigured`, which says what to do, when the provider is unknown, or its key or package is missing.
    """
    provider = choice.model.partition(":")[0]
    url = own_server(choice) or choice.url or choice.kept_url
    if provider.partition("-")[0] == "openai":
        url = url or os.environ.get(address_variable(provider))  # its servers may want no key, others' always do
    key = choice.key or (None if choice.kept_url else os.environ.get(key_variable(provider)))
    keyless = bool(url) and not key
    if own_server(choice):
        return replace(at_url(choice, str(url), key or NO_KEY), keyless=keyless)
    at = {"base_url": url, "api_key": key or NO_KEY} if url else {}
    try:
        model = _unretried(infer_model(choice.model, partial(_provider, at=at)))
    except NotConfigured:
        raise
    except Exception as error:  # beside the library's own errors those of a provider's package, as for an empty key
        if not isinstance(error, UserError):
            _check_environment()
        raise NotConfigured(_lacking(choice.model, str(error))) from None
    profile = model.profile
    context = choice.context or profile.get("context_window") or CONTEXT_TOKENS
    sees = profile.get("supports_image_input", False) if choice.sees is None else choice.sees
    return Served(model, context, sees, choice.tools is not False, None, True, keyless, choice.price)


def _provider(name: str, at: Mapping[str, str]) -> Provider[Any]:
    """The library's provider of this name, `at` another address and key if some are given. Streams are repaired where
    it takes our HTTP client."""
    if name.startswith("gateway/") and not at:
        return _with_plain_tools(infer_provider(name))
    try:
        made: Any = infer_provider_class(name)
    except ValueError as error:
        raise UserError(str(error)) from None
    taken = signature(made).parameters.keys()
    if at.keys() - taken:
        raise UserError(f"models of {name} are not asked at AGENTSVC_MODEL_URL; leave it out")
    if name in _OLDER_HTTP or "http_client" not in taken:
        return _with_plain_tools(made(**at))
    # Only the provider knows its own address.
    address = at.get("base_url") or str(made(http_client=repairing_client(_LOOPBACK)).base_url)
    return _with_plain_tools(made(**at, http_client=repairing_client(address)))


def _with_plain_tools(provider: Any) -> Provider[Any]:
    """The provider, with models that are told a tool once it is loaded, and in the same form by every provider."""
    known = provider.model_profile
    plain = ModelProfile(tool_deferral_mode=None, tool_addition_mode=None)
    provider.model_profile = lambda name: merge_profile(known(name), plain)
    found: Provider[Any] = provider
    return found


def _check_environment() -> None:
    """Raises `NotConfigured` if a variable of the environment is at fault, which a provider's library does not name."""
    for error in settings_at_fault():
        raise NotConfigured(MissingRequirement(f"The model's server can't be reached. {error}"))


def response_cost(served: Served, response: ModelResponse) -> int:
    """Return what a call cost in micro-cents, by the operator's price or the published ones; 0 without a price."""
    if served.price is not None:
        usage = response.usage
        return round(usage.input_tokens * served.price[0] + usage.output_tokens * served.price[1])
    model = served.model
    asked = replace(response, model_name=model.model_name, provider_name=model.system, provider_url=model.base_url)
    # A provider or a gateway may answer by another name than was asked for, without a published price.
    for named in (response, asked):
        with contextlib.suppress(LookupError, ValueError, AssertionError):
            return int(named.cost().total_price * 100 * CENT)
    return 0


def dearest(served: Served, asked: int, answer: int) -> int:
    """Return the most that a call of so many tokens may cost, in micro-cents: input that the provider writes into its
    cache may cost more than other input."""
    return max(priced(served, asked, answer), priced(served, asked, answer, cache_write=asked))


def affordable(served: Served, asked: int, answer: int, room: int) -> int:
    """Return the longest answer, up to `answer` tokens, that `room` micro-cents pay after `asked` tokens of input."""
    base, whole = dearest(served, asked, 0), dearest(served, asked, answer)
    if whole <= room or whole == base:
        return answer
    return max(int((room - base) * answer / (whole - base)) - 1, 0)  # less one: prices are rounded down


def priced(served: Served, asked: int, answer: int, cache_write: int = 0) -> int:
    """Return what a call of so many tokens costs, in micro-cents; `cache_write` of its input go into a cache."""
    usage = RequestUsage(input_tokens=asked, output_tokens=answer, cache_write_tokens=cache_write)
    return response_cost(served, ModelResponse(parts=[], usage=usage))


def published_price(served: Served) -> tuple[float, float] | None:
    """Cents a million tokens of input and of output; None for a model without a published price."""
    given, made = priced(served, _MANY, 0), priced(served, 0, _MANY)
    return (given / _MANY, made / _MANY) if given or made else None


def _meant(model: str) -> str:
    """The model of a provider whose name is nearly the one given."""
    given, _, name = model.partition(":")
    providers = {known.partition(":")[0] for known in get_args(KnownModelName.__value__)}
    near = get_close_matches(given, sorted(providers), 1, 0.8)
    return f"did you mean {near[0]}:{name}? Name that" if near else ""


def _lacking(model: str, said: str) -> MissingRequirement:
    """What an operator can do about an error of the library, whose own message (`said`) is for programmers."""
    if said.startswith("Unknown "):
        known = _meant(model) or "https://ai.pydantic.dev/models/ names those that are"
        return MissingRequirement(
            f"The model {model} is of no known provider: {known}, or openai-chat:NAME for a server of your own."
        )
    if package := _PACKAGE.search(said):
        return MissingRequirement(f"The model {model} needs a package: pip install '{package[1]}'.", package=package[1])
    if found := _VARIABLE.search(said):
        lacks = f"The model {model} needs its provider's key or address: set {found[1]}."
        return MissingRequirement(lacks, variable=found[1] if found[1].endswith(("KEY", "TOKEN")) else "")
    return MissingRequirement(f"The model {model} can't be used: {said}")
