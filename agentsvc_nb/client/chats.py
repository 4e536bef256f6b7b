"""Projects and chats (contract.md §2)."""

from __future__ import annotations

from agentsvc_nb.client.core import Call, Core
from agentsvc_nb.wire.chats import Project, ProjectList, RetiredChat


async def create_project(core: Core, name: str) -> Project:
    """Make a project; give its id as `project` to runs and jobs. Never sent twice."""
    return await core.ask(Project, Call("projects.create", body={"name": name}))


async def list_projects(core: Core) -> list[Project]:
    """All projects, the oldest first."""
    return (await core.ask(ProjectList, Call("projects.list"))).data


async def retire(core: Core, chat: str) -> RetiredChat:
    """Let a chat take no more starts; safe to repeat. What runs in it goes on, and its files stay readable.

    Raises `StefanBrainError` (`chat_not_found`).
    """
    return await core.ask(RetiredChat, Call("chats.retire", {"chat": chat}))
