"""`ask_stefanbrain` in the catalog: one question to the agent (docs/api/tools-and-jobs.md)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field, StringConstraints

from agentsvc_nb.tools.port import ToolDeclaration, WebAddress
from agentsvc_nb.wire.runs import UploadId


class AskInput(BaseModel):
    message: Annotated[str, StringConstraints(pattern=r"\S")] = Field(description="What to ask.")
    file_ids: list[UploadId] = Field(
        default_factory=list, description="Staged files to attach; at most 10 attachments with `image_urls`."
    )
    image_urls: list[WebAddress] = Field(default_factory=list, description="Pictures to look at, http or https.")
    on_busy: Literal["reject"] = Field(default="reject", description="What happens when the chat is busy.")


class AskStefanBrain(ToolDeclaration):
    """A catalog entry without `run`: the service starts a run for it, and its job is only a handle on that run."""

    name: ClassVar[str] = "ask_stefanbrain"
    description: ClassVar[str] = "Asks the agent, and answers with its text, or with a job when that takes longer."
    family: ClassVar[str] = "mcp_ask"
    idempotent: ClassVar[bool] = True

    requirements: ClassVar[str] = "The agent that answers is `AGENTSVC_MODEL`: [models.md](models.md)."

    Input: ClassVar[type[BaseModel]] = AskInput
