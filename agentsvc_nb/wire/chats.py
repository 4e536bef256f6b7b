"""Projects and chats (contract.md §2)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from agentsvc_nb.wire.envelope import Model, Request
from agentsvc_nb.wire.limits import PROJECT_NAME_CHARS


class NewProject(Request):
    """The body of `POST /projects`."""

    name: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=PROJECT_NAME_CHARS, pattern=r"^[^\n\r]*$"),
    ] = Field(description="How people call the project: one line.", examples=["Summer sale"])


class Project(Model):
    """Chats that belong together; runs and jobs name it in `project`."""

    object: str = "project"
    id: str
    name: str = ""


class ProjectList(Model):
    object: str = "list"
    data: list[Project] = Field(default_factory=list)


class RetiredChat(Model):
    """A chat that takes no more starts; what is in it can still be read."""

    object: str = "chat"
    id: str
    retired: bool = True
