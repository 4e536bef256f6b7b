"""Read and write rows of the skills of projects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from agentsvc_nb.documents.skills import Skill
from agentsvc_nb.service.ports import Row, Tx
from agentsvc_nb.service.sql import load
from agentsvc_nb.wire.files import SkillFacts

_sql: Final = load("chats/skills")


def put(tx: Tx, project: str, skill: Skill) -> None:
    """Add a skill to the project, and replace a skill of the same name."""
    texts = {"description": skill.description, "paths": json.dumps([*skill.files]), "files": json.dumps(skill.files)}
    tx.run(_sql["put"], project=project, name=skill.name, **texts)


def remove(tx: Tx, project: str, name: str) -> None:
    tx.run(_sql["remove"], project=project, name=name)


def list_by_project(tx: Tx, project: str) -> list[SkillFacts]:
    """Return the project's skills, ordered by name."""
    return [_facts(row) for row in tx.all(_sql["of_project"], project=project)]


def list_by_account(tx: Tx, account: str) -> dict[str, list[SkillFacts]]:
    """Return the skills of the account's projects, by project id."""
    found: dict[str, list[SkillFacts]] = {}
    for row in tx.all(_sql["of_account"], account=account):
        found.setdefault(row["project"], []).append(_facts(row))
    return found


def files(tx: Tx, project: str, name: str) -> Mapping[str, str] | None:
    """Return the texts of a skill, by path, or None if the project has no such skill."""
    row = tx.one(_sql["files"], project=project, name=name)
    return None if row is None else json.loads(row["files"])


def _facts(row: Row) -> SkillFacts:
    return SkillFacts(name=row["name"], description=row["description"], files=json.loads(row["paths"]))
