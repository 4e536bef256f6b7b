"""Create callable models (`ServedModel`) from the operator's choice (`ModelChoice`), and compute the cost of calls."""

from __future__ import annotations

import contextlib
import copy
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from inspect import signature
from typing import Any, Final, get_args

import httpx2
from pydantic_ai import StructuredDict
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import KnownModelName, Model, ModelRequestParameters, create_async_httpx2_client, infer_model
from pydantic_ai.models.openai import (
    OpenAIChatModel,
    OpenAIChatModelSettings,
    OpenAIResponsesModel,
    OpenAIResponsesModelSettings,
)
from pydantic_ai.output import NativeOutput, OutputObjectDefinition, OutputSpec, ToolOutput
from pydantic_ai.profiles import ModelProfile, merge_profile
from pydantic_ai.profiles.anthropic import ANTHROPIC_THINKING_BUDGET_MAP
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings, merge_model_settings
from pydantic_ai.usage import RequestUsage

from agentsvc_nb.agents.language.model_choice import (
    CONTEXT_TOKENS,
    MissingRequirement,
    ModelChoice,
    NotConfigured,
    find_abilities,
    network_fault,
    own_server,
)
from agentsvc_nb.agents.language.tokens import ANSWER_SHARE
from agentsvc_nb.model_names import address_variable, key_variable
from agentsvc_nb.wire.proxies import connection_options, find_setting_faults
from agentsvc_nb.wire.runs import CENT, Effort

NO_KEY: Final = "none"
"""A placeholder for servers that need no key, because the provider's libraries require a key."""
SMALL_BYTES: Final = 1_000_000_000
"""Local models whose files are smaller than this choose tools badly, so by default they are offered no tools."""
SMALL_TEMPERATURE: Final = 0.2
"""The sampling temperature for small models. At higher temperatures, their answers become incoherent."""
FIRST_EVENT_SECONDS: Final = 300.0
SILENCE_SECONDS: Final = 120.0
"""The maximum seconds between two events of a stream. Some providers send pings, which also count as events."""
_ANSWER_TOKENS: Final = 32_000
"""The maximum number of output tokens to assume for a model that thinks and whose own limit is unknown."""
_ANSWER_TOKENS_OLDER: Final = 8_000
"""The maximum number of output tokens to assume for a model that does not think and whose own limit is unknown. Most of
these are older models, which refuse calls that request more.
"""
_OLDER_HTTP: Final = frozenset({"cohere", "github", "groq", "huggingface"})
"""The providers whose libraries do not accept an `httpx2` client."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model that can be called, with what an agent must know about it.

    Attributes:
        context: the context length in tokens.
        sees: True if the model accepts pictures.
        tools: True if the model is offered tools.
        hosted: True if a provider hosts the model.
        price: the operator's price in cents per million input and output tokens, or None for the published price.
    """

    model: Model
    context: int
    sees: bool
    tools: bool
    settings: ModelSettings | None = None
    hosted: bool = False
    price: tuple[float, float] | None = None

    @property
    def largest_answer(self) -> int:
        """Return the maximum tokens of an answer: the model's limit, but at most a quarter of its context length."""
        profile = self.model.profile
        known: object = (self.settings or {}).get("max_tokens") or profile.get("anthropic_max_output_tokens")
        thinks = profile.get("supports_thinking") and "anthropic_max_output_tokens" not in profile
        longest = known if isinstance(known, int) else _ANSWER_TOKENS if thinks else _ANSWER_TOKENS_OLDER
        return min(longest, self.context // ANSWER_SHARE)

    def settings_of_call(self, answer: int, effort: Effort | None = None) -> ModelSettings:
        """Return the library's settings for a call. `answer` is the maximum of output tokens, including thinking."""
        # `cache` marks the parts that stay the same between calls, because some providers cache only marked parts.
        found = ModelSettings(first_event_timeout=FIRST_EVENT_SECONDS, cache=True, **(self.settings or {}))
        found["max_tokens"] = answer
        # Older Claude models refuse a call whose token limit is lower than the tokens for the requested thinking.
        adaptive = self.model.profile.get("anthropic_supports_adaptive_thinking", True)
        if effort is not None and (adaptive or answer > ANTHROPIC_THINKING_BUDGET_MAP[effort]):
            found["thinking"] = effort
        if "timeout" not in self.model.unsupported_settings:
            found["timeout"] = SILENCE_SECONDS
        return merge_model_settings(found, _settings_of_openai(self.model)) or found

    def output_type(self, schema: dict[str, Any], *, has_tools: bool) -> OutputSpec[Any]:
        """Return the library's output type that makes the model answer with an object that fits the schema.

        Most models get the schema as the format of their answer. Claude and older models get it as the input schema of
        a tool. Claude's structured output would forbid additional properties and drop keywords, which changes the
        meaning of the schema.
        """
        shape = StructuredDict(copy.deepcopy(schema), name="answer")
        is_older_gemini = self.model.profile.get("google_supports_tool_combination") is False
        if (has_tools and is_older_gemini) or not self._takes_any_schema(schema):
            return ToolOutput(shape, strict=False)
        return NativeOutput(shape, strict=False)

    def _takes_any_schema(self, schema: dict[str, Any]) -> bool:
        wanted = OutputObjectDefinition(json_schema=copy.deepcopy(schema), name="answer", strict=False)
        parameters = ModelRequestParameters(output_mode="native", output_object=wanted)
        try:
            _, prepared = self.model.prepare_request(self.settings, parameters)
        except Exception:  # the providers' libraries raise errors of many classes
            return False
        return prepared.output_object is not None and not prepared.output_object.strict

    def cost(self, response: ModelResponse) -> int:
        """Return a call's cost in micro-cents. Without an operator's price, use the published price, if any, else 0."""
        if self.price is not None:
            usage = response.usage
            return round(usage.input_tokens * self.price[0] + usage.output_tokens * self.price[1])
        model = self.model
        asked = replace(response, model_name=model.model_name, provider_name=model.system, provider_url=model.base_url)
        # The response may name the model differently than the request, and only one of the names may have a published
        # price.
        for named in (response, asked):
            with contextlib.suppress(LookupError, ValueError, AssertionError):
                return int(named.cost().total_price * 100 * CENT)
        return 0

    def cost_of_tokens(self, asked: int, answer: int, cache_write: int = 0) -> int:
        """Return the cost in micro-cents of a call with `asked` input tokens and `answer` output tokens. The provider
        writes `cache_write` of the input tokens into its cache.
        """
        usage = RequestUsage(input_tokens=asked, output_tokens=answer, cache_write_tokens=cache_write)
        return self.cost(ModelResponse(parts=[], usage=usage))

    def most_cost(self, asked: int, answer: int) -> int:
        """Return a call's maximum cost in micro-cents. Input that the provider writes into its cache may cost more."""
        return max(self.cost_of_tokens(asked, answer), self.cost_of_tokens(asked, answer, cache_write=asked))

    def affordable_answer(self, asked: int, answer: int, room: int) -> int:
        """Return how many output tokens a call with `asked` input tokens can afford, at most `answer`.

        `room` is the money for the whole call in micro-cents.
        """
        base, whole = self.most_cost(asked, 0), self.most_cost(asked, answer)
        if whole <= room or whole == base:
            return answer
        return max(int((room - base) * answer / (whole - base)) - 1, 0)  # one less, because prices are rounded down

    def published_price(self) -> tuple[float, float] | None:
        """Return the published price in cents per million input and output tokens, or None if there is none."""
        # Compute the price from a thousand tokens, because some providers charge more per token for longer calls.
        given, made = self.cost_of_tokens(1_000, 0), self.cost_of_tokens(0, 1_000)
        return (given / 1_000, made / 1_000) if given or made else None


def _settings_of_openai(model: Model) -> ModelSettings | None:
    """Return further settings for a model that uses one of OpenAI's APIs, or None for any other model."""
    if isinstance(model, OpenAIResponsesModel):
        return OpenAIResponsesModelSettings(openai_store=False)  # else OpenAI stores requests and answers for 30 days
    if isinstance(model, OpenAIChatModel):
        # Some servers report the usage so far in each chunk, so only the last report counts. The library's setting for
        # this would also request such reports, which OpenAI refuses. `extra_body` therefore replaces the library's
        # stream options.
        only_last = {"stream_options": {"include_usage": True}}
        return OpenAIChatModelSettings(openai_continuous_usage_stats=True, extra_body=only_last)
    return None


def at_url(choice: ModelChoice, url: str, key: str) -> ServedModel:
    """Return a model on a self-hosted server with OpenAI's Chat Completions API, such as Ollama, vLLM or llama.cpp."""
    provider, _, name = choice.model.partition(":")
    profile = OpenAIModelProfile(supports_json_schema_output=True, openai_supports_strict_tool_definition=False)
    if provider == "ollama":  # Ollama knows only the older name and ignores the newer name
        profile["openai_chat_supports_max_completion_tokens"] = False
    model = OpenAIChatModel(name, provider=OpenAIProvider(url, key, http_client=_create_client(url)), profile=profile)
    context = choice.context or CONTEXT_TOKENS
    settings = ModelSettings(max_tokens=context // ANSWER_SHARE)
    able = find_abilities(choice)
    tools = able.tools is not False if choice.tools is None else choice.tools
    sees = bool(able.sees if choice.sees is None else choice.sees)
    return ServedModel(_turn_off_retries(model), context, sees, tools, settings, price=choice.price)


def local(choice: ModelChoice, url: str, key: str, context: int) -> ServedModel:
    """Return the model that the local engine serves, with a context length of `context` tokens."""
    assert choice.gguf is not None
    found = at_url(replace(choice, context=context), url, key)
    if choice.gguf.stat().st_size >= SMALL_BYTES:
        return found
    settings = ModelSettings(max_tokens=context // ANSWER_SHARE, temperature=SMALL_TEMPERATURE)
    return replace(found, tools=found.tools and choice.tools is not None, settings=settings)


def by_name(choice: ModelChoice) -> ServedModel:
    """Return the chosen model, on a self-hosted server or at a provider that the agent library knows.

    The address and key are those of the choice, or else those in the provider's own environment variables.

    Raises `NotConfigured` if the provider is unknown, or if its key or package is missing. The message says what to do.
    """
    provider = choice.model.partition(":")[0]
    url = own_server(choice) or choice.url or choice.kept_url
    elsewhere = os.environ.get(address_variable(provider))
    if provider.partition("-")[0] == "openai":
        # The variable may name a self-hosted server, which may need no key. All other servers need one.
        url = url or elsewhere
    key = choice.key or (None if choice.kept_url else os.environ.get(key_variable(provider)))
    if own_server(choice):
        return at_url(choice, str(url), key or NO_KEY)
    at = {"base_url": url, "api_key": key or NO_KEY} if url else {"base_url": elsewhere} if elsewhere else {}
    try:
        model = _turn_off_retries(infer_model(choice.model, partial(_create_provider, at=at)))
    except NotConfigured:
        raise
    except Exception as error:  # the agent library and the provider's package raise errors of many classes
        for fault in find_setting_faults() if not isinstance(error, UserError) else ():
            raise NotConfigured(MissingRequirement(f"The model's server can't be reached. {fault}")) from None
        raise NotConfigured(_explain_error(choice.model, str(error))) from None
    context = choice.context or model.profile.get("context_window") or CONTEXT_TOKENS
    sees = model.profile.get("supports_image_input", False) if choice.sees is None else choice.sees
    return ServedModel(model, context, sees, choice.tools is not False, None, True, choice.price)


def _turn_off_retries(model: Model) -> Model:
    """Turn off the retries of the provider's library, because users could not see them. The run itself retries."""
    client: Any = getattr(model, "client", None)
    if hasattr(client, "max_retries"):
        client.max_retries = 0
    return model


def _create_client(url: str) -> httpx2.AsyncClient:
    """Return an HTTP client with the environment's proxy and certificates. Raise `NotConfigured` if one is invalid."""
    if fault := network_fault(url):
        raise NotConfigured(fault)
    limits = httpx2.Limits(max_connections=1_000, max_keepalive_connections=100)  # as in the agent library
    return create_async_httpx2_client(transport=httpx2.AsyncHTTPTransport(limits=limits, **connection_options(url)))


def _create_provider(name: str, at: Mapping[str, str]) -> Provider[Any]:
    """Return the agent library's provider of this name. `at` may contain another address and key than its own."""
    if not at:
        return _with_plain_tools(infer_provider(name))
    try:
        kind: Any = infer_provider_class(name)
    except ValueError as error:
        raise UserError(str(error)) from None
    parameters = signature(kind).parameters.keys()
    if at.keys() - parameters:
        raise UserError(f"models of {name} can't have another address; unset AGENTSVC_MODEL_URL")
    has_client = "http_client" in parameters and name not in _OLDER_HTTP
    return _with_plain_tools(kind(**at, **({"http_client": _create_client(at["base_url"])} if has_client else {})))


def _with_plain_tools(provider: Any) -> Provider[Any]:
    """Turn off the provider's own formats for tools that are loaded later, so that all providers get the same one."""
    known = provider.model_profile
    plain = ModelProfile(tool_deferral_mode=None, tool_addition_mode=None)
    provider.model_profile = lambda name: merge_profile(known(name), plain)
    found: Provider[Any] = provider
    return found


def _explain_error(model: str, said: str) -> MissingRequirement:
    """Return what an operator can do about the agent library's error `said`, which is written for programmers."""
    if said.startswith("Unknown "):
        given, _, name = model.partition(":")
        providers = sorted({known.partition(":")[0] for known in get_args(KnownModelName.__value__)})
        near = [f"use {one}:{name} if you mean that" for one in get_close_matches(given, providers, 1, 0.8)]
        known = near[0] if near else "see the providers at https://ai.pydantic.dev/models/"
        return MissingRequirement(
            f"The provider of the model {model} is not known: {known}, or use openai-chat:NAME for your own server."
        )
    if package := re.search('pip install "([^"]+)"', said):
        return MissingRequirement(f"The model {model} needs a package: pip install '{package[1]}'.", package=package[1])
    if found := re.search("`([A-Z][A-Z0-9_]+)`", said):
        lacks = f"The model {model} needs its provider's key or address: set {found[1]}."
        return MissingRequirement(lacks, variable=found[1] if found[1].endswith(("KEY", "TOKEN")) else "")
    return MissingRequirement(f"The model {model} can't be used: {said}")
