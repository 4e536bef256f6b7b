"""Projects and chats (contract.md §2)."""

from __future__ import annotations

from typing import Unpack

from agentsvc_nb.client.request.call import Call
from agentsvc_nb.client.request.core import Core
from agentsvc_nb.client.request.options import Options
from agentsvc_nb.client.results.models import Listing
from agentsvc_nb.wire.chats import Project, ProjectList, RetiredChat


async def create_project(core: Core, name: str, **options: Unpack[Options]) -> Project:
    """Make a project; give its id as `project` to runs and jobs. Never sent twice.

    Raises `StefanBrainError` (`invalid_json` for a name that is none).

    >>> client.runs.start("Plan the sale", project=client.projects.create("Autumn").id)  # doctest: +SKIP
    """
    return await core.scoped(options).ask(Project, Call("projects.create", body={"name": name}))


async def list_projects(core: Core, **options: Unpack[Options]) -> Listing[Project]:
    """All projects, the oldest first. Raises `StefanBrainError`.

    >>> [project.name for project in client.projects.list()]  # doctest: +SKIP
    """
    return Listing((await core.scoped(options).ask(ProjectList, Call("projects.list"))).data, Project)


async def retire(core: Core, chat: str, **options: Unpack[Options]) -> RetiredChat:
    """Let a chat take no more starts; safe to repeat. What runs in it goes on, and its files stay readable.

    Raises `StefanBrainError` (`chat_not_found`).

    >>> client.chats.retire("chat_1").retired  # doctest: +SKIP
    True
    """
    return await core.scoped(options).ask(RetiredChat, Call("chats.retire", {"chat": chat}))
