"""How a model is asked for an object that fits a schema: by its provider's structured output, or through a tool."""

from __future__ import annotations

import copy
import json
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_ai import Agent, ModelRetry, StructuredDict
from pydantic_ai import RunContext as ModelContext
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import NativeOutput, OutputObjectDefinition, OutputSpec, ToolOutput

from agentsvc_nb.agents.language.served_models import ServedModel

Misfit = Callable[[str], Awaitable[str | None]]
"""Returns why an answer does not fit its schema; None when it does."""


def output_type(schema: dict[str, Any], served: ServedModel, *, tools: bool) -> OutputSpec[Any]:
    """Return the output type that asks for a fitting object; `tools`: the agent also has tools.

    Most providers take any schema as it is. Claude and older models get it as the input of a tool: Claude's structured
    output closes each object and leaves out keywords, so that the schema would mean something else.
    """
    shape = StructuredDict(copy.deepcopy(schema), name="answer")
    is_older_gemini = served.model.profile.get("google_supports_tool_combination") is False
    if (tools and is_older_gemini) or not _takes_any_schema(schema, served):
        return ToolOutput(shape, strict=False)
    return NativeOutput(shape, strict=False)


def _takes_any_schema(schema: dict[str, Any], served: ServedModel) -> bool:
    wanted = OutputObjectDefinition(json_schema=copy.deepcopy(schema), name="answer", strict=False)
    parameters = ModelRequestParameters(output_mode="native", output_object=wanted)
    try:
        _, prepared = served.model.prepare_request(served.settings, parameters)
    except Exception:  # the libraries refuse with errors of many kinds
        return False
    return prepared.output_object is not None and not prepared.output_object.strict


def check_answers(agent: Agent[None, Any], misfit: Misfit) -> None:
    """Have the agent check the values of each answer, which the library does not: one that does not fit goes back to
    the model with the reason."""

    @agent.output_validator
    async def check(ctx: ModelContext[None], found: dict[str, Any]) -> dict[str, Any]:
        if why := await misfit(json.dumps(found, ensure_ascii=False)):
            raise ModelRetry(f"The answer does not fit the schema: {why}")
        return found
