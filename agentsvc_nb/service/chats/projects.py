"""Use cases of projects, which group chats: their names, instructions for the agent, and skills (docs/api/runs.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from agentsvc_nb.documents.skills import Skill, SkillError, parse_skill, skill_name
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chat_records, skill_records
from agentsvc_nb.service.chats.chat_records import ProjectRecord
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.files import Project, ProjectChange
from agentsvc_nb.wire.limits import SKILLS_MAX


async def create(context: UseCaseContext, account: str, name: str, instructions: str) -> Project:
    now = context.now
    record = await context.write(lambda tx: chat_records.create_project(tx, account, name, instructions, now))
    return record.public([])


async def update(context: UseCaseContext, account: str, project: str, change: ProjectChange) -> Project:
    """Update fields that are not None. Raises `invalid_project`, `invalid_skill`, `project_not_found`."""
    if not ids.is_project(project):
        raise ApiError("invalid_project")
    changes = await asyncio.to_thread(parse_skills, change.skills) if change.skills else {}

    def use(tx: Tx) -> Project:
        record = chat_records.update_project(tx, project, account, change.name, change.instructions)
        if record is None:
            raise ApiError("project_not_found")
        for name, given in changes.items():
            if given is None:
                skill_records.remove(tx, project, name)
            else:
                skill_records.put(tx, project, given)
        found = skill_records.list_by_project(tx, project)
        if changes and len(found) > SKILLS_MAX:
            raise ApiError(
                "invalid_skill",
                f"The project would have {len(found)} skills, but must not have more than {SKILLS_MAX}.",
            )
        return record.public(found)

    return await context.write(use)


def parse_skills(given: Mapping[str, Mapping[str, str]]) -> dict[str, Skill | None]:
    """Return the skills by name, with None for each skill to remove. Raises `invalid_skill`."""
    found: dict[str, Skill | None] = {}
    try:
        for folder, files in given.items():
            name = skill_name(folder)
            if name in found:
                raise SkillError(f"Two skills have the name {name!r}.")
            found[name] = parse_skill(folder, files) if files else None
    except SkillError as error:
        raise ApiError("invalid_skill", str(error), field="skills") from None
    return found


async def list_all(context: UseCaseContext, account: str) -> list[Project]:
    """Return the account's projects, oldest first."""

    def use(tx: Tx) -> list[Project]:
        found = skill_records.list_by_account(tx, account)
        return [record.public(found.get(record.id, [])) for record in chat_records.projects(tx, account)]

    return await context.read(use)


async def get_by_chat(context: UseCaseContext, account: str, chat: str) -> Project | None:
    """Return the project of a chat, or None if the chat has no project."""

    def use(tx: Tx) -> Project | None:
        record = _get_by_chat(tx, account, chat)
        return record.public(skill_records.list_by_project(tx, record.id)) if record else None

    return await context.read_single(use)


async def change_instructions(context: UseCaseContext, account: str, chat: str, change: Callable[[str], str]) -> bool:
    """Call `change` with the instructions of the chat's project, and store its result as the new instructions.

    Return False if the chat has no project.
    """

    def use(tx: Tx) -> bool:
        record = _get_by_chat(tx, account, chat)
        if record is None:
            return False
        chat_records.update_project(tx, record.id, account, None, change(record.instructions))
        return True

    return await context.write(use)


async def get_skill(context: UseCaseContext, chat: str, name: str) -> Mapping[str, str] | None:
    """Return the texts of a skill of the chat's project, by path, or None if the project has no such skill."""

    def use(tx: Tx) -> Mapping[str, str] | None:
        record = _get_by_chat(tx, chat_records.owner(tx, chat), chat)
        return skill_records.files(tx, record.id, name) if record else None

    return await context.read_single(use)


def _get_by_chat(tx: Tx, account: str, chat: str) -> ProjectRecord | None:
    record = chat_records.get(tx, chat, account)
    return chat_records.project(tx, record.project, account) if record and record.project else None
