"""The request of Google's `generateContent`, of the SDK's own types."""

from __future__ import annotations

from google.genai import types
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class GenerateContent(BaseModel):
    """The request's body, of the SDK's own types: the SDK has none for the whole."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)

    contents: list[types.Content]
    system_instruction: types.Content | None = None
    tools: list[types.Tool] | None = None
    tool_config: types.ToolConfig | None = None
    safety_settings: list[types.SafetySetting] | None = None
    generation_config: types.GenerationConfig | None = None
    cached_content: str | None = None
    labels: dict[str, str] | None = None
