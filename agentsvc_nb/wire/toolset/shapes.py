"""What the inputs and outputs of tools are built on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from agentsvc_nb.wire.limits import URL_CHARS

WebAddress = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/]\S*$", max_length=URL_CHARS)]
Filled = Annotated[str, StringConstraints(pattern=r"\S")]
"""A text with something in it."""
WorkspacePath = Annotated[Filled, Field(json_schema_extra={"format": "workspace-path"})]
"""The path of a file in the chat's workspace: a form offers those that are there."""


class ToolInput(BaseModel):
    """A tool's input. Unknown fields are ignored (contract §1)."""

    model_config = ConfigDict(extra="ignore")


class ToolOutput(BaseModel):
    """A tool's `data`."""

    model_config = ConfigDict(protected_namespaces=())


class Check(ToolOutput):
    """One thing that was looked at, by a rule that anybody can repeat."""

    name: str = Field(description="What was looked at, such as `title`.")
    passed: bool
    severity: Literal["high", "medium", "low"] = Field(description="How much it matters when it did not pass.")
    message: str = Field(description="What was found, and what to do about it.")
