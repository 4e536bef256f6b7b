"""The project to ask in: chosen, made, and told the agent's instructions and skills."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.connection import status
from agentsvc_nb.notebook.display.results import PrintedText
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.state.session import Session, errors_as_cells
from agentsvc_nb.wire.files import Project, SkillFacts
from agentsvc_nb.wire.limits import SKILL_BYTES, SKILL_FILES_MAX, SKILLS_MAX
from agentsvc_nb.wire.text import label

NONE: Final = "-"
LIST: Final = ""
"""`--skills` without a folder."""
_MAIN: Final = "SKILL.md"
_FOLDER: Final = "A folder of skills has NAME/SKILL.md for each."
_DESCRIPTION_CHARS: Final = 100


@dataclass(frozen=True, slots=True)
class SkillChanges:
    """What is done with a project's skills: those of a `folder` are put into it (`-`: all are taken away; empty: they
    are only listed), those `without` are taken away."""

    folder: str | None = None
    without: Sequence[str] = ()

    def __bool__(self) -> bool:
        return self.folder is not None or bool(self.without)


def project(
    session: Session,
    named: str | None = None,
    *,
    create: bool = False,
    instructions: str | None = None,
    skills: SkillChanges | None = None,
) -> PrintedText:
    """Ask in the project of this id or name from now on; without one, in no project.

    With `create`, a missing project is created. `instructions` is a text file that the agent is told in all chats of
    the project (of the one in use, without a name); `-` takes them back. Raises `AskError` when none or several have
    the name, a file can't be read, or the service fails.
    """
    text = None if instructions is None else _instructions(instructions)
    skills = skills or SkillChanges()
    found = FoundSkills() if skills.folder in (None, LIST, NONE) else skills_in(Path(skills.folder or "").expanduser())
    changes = text is not None or bool(skills)
    chosen = _project(session, named, create) if named is not None else session.project if changes else None
    lines: list[str] = []
    if changes:
        if chosen is None:
            raise AskError("Which project?", "For example: %agentsvc project NAME --instructions FILE")
        with errors_as_cells(session):
            if text is not None:
                session.client().projects.update(chosen, instructions=text)
            lines = _change_skills(session, chosen, skills, found) if skills else []
    session.turn_to(label=session.workstream, project=chosen)
    return PrintedText("\n".join([status(session), *lines]))


def _change_skills(session: Session, project: str, wanted: SkillChanges, found: FoundSkills) -> list[str]:
    """Change the project's skills, one after the other. Returns lines that list them."""
    client = session.client()
    known = _skills(client.projects.list(), project)
    if unknown := [name for name in wanted.without if name not in known]:
        raise AskError(f"The project has no skill {label(unknown[0], 80)!r}.", f"It has: {', '.join(known) or 'none'}.")
    gone = known if wanted.folder == NONE else wanted.without
    for name, files in {**found.texts, **{name: {} for name in gone}}.items():
        try:
            known = _skills([client.projects.update(project, skills={name: files})], project)
        except StefanBrainError as error:
            if error.code != "invalid_skill":
                raise
            raise AskError(f"{error.message} It was not taken, nor those after it.", _FOLDER) from None
    lines = [f"         {name}: {label(skill.description, _DESCRIPTION_CHARS)}" for name, skill in known.items()]
    left = [f"left out {label(', '.join(found.left_out), 300)} (no text)"] if found.left_out else []
    return [f"skills   {len(known) or 'none'}", *lines, *left]


def _skills(projects: Sequence[Project], project: str) -> dict[str, SkillFacts]:
    return {skill.name: skill for each in projects if each.id == project for skill in each.skills}


@dataclass(frozen=True, slots=True)
class FoundSkills:
    """Skills of a folder: `texts` by name and path, and the paths of files that are no text."""

    texts: dict[str, dict[str, str]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def skills_in(folder: Path) -> FoundSkills:
    """The skills in a folder, or that which it is, without hidden files and links. Raises `AskError`."""
    try:
        inside = [folder.resolve()] if (folder / _MAIN).is_file() else sorted(folder.iterdir())
        skills = [each for each in inside if (each / _MAIN).is_file()]
        if not skills:
            raise AskError(f"{label(str(folder), 200)} has no skills; nothing was sent.", _FOLDER)
        if len(skills) > SKILLS_MAX:
            raise AskError(f"{len(skills)} skills are too many; nothing was sent.", f"A project has {SKILLS_MAX}.")
        found = FoundSkills()
        for each in skills:
            found.texts[each.name] = _texts(each, found.left_out)
        return found
    except OSError as error:
        raise AskError(f"{label(str(folder), 200)} can't be read: {error}", _FOLDER) from None


def _texts(folder: Path, left_out: list[str]) -> dict[str, str]:
    """The texts of a skill by path. Raises `AskError` for too many or too much."""
    found: dict[str, str] = {}
    left = SKILL_BYTES
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder)
        if any(part.startswith(".") for part in path.parts) or file.is_symlink() or not file.is_file():
            continue
        text = _text(file)
        if text is None:
            left_out.append(f"{folder.name}/{path.as_posix()}")
            continue
        found[path.as_posix()] = text
        left -= len(text.encode())
        if left < 0 or len(found) > SKILL_FILES_MAX:
            most = f"{SKILL_FILES_MAX} files and {SKILL_BYTES:,} bytes of text"
            raise AskError(
                f"The skill {label(folder.name, 80)!r} is too large; nothing was sent.", f"It may have {most}."
            )
    return found


def _text(file: Path) -> str | None:
    """The text of a file, no more of it than a skill may have; None when it is none."""
    with file.open("rb") as opened:
        data = opened.read(SKILL_BYTES + 4)
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(data)  # what is cut may end within a character
    except UnicodeDecodeError:
        return None


def _instructions(file: str) -> str:
    try:
        return "" if file == NONE else Path(file).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AskError(f"{label(file, 200)} can't be read: {error}", "It is a text file in UTF-8.") from None


def _project(session: Session, named: str, create: bool) -> str:
    with errors_as_cells(session):
        known = session.client().projects.list()
        session.known.projects = {each.name: each.id for each in known}
        found = [each.id for each in known if named in (each.id, each.name)]
        if not found and create:
            found = [session.client().projects.create(named).id]
            session.known.projects[named] = found[0]
    if len(found) != 1:
        problem = "There is no project" if not found else f"{len(found)} projects are called"
        hint = "--create makes one." if not found else "Name it by its id."
        raise AskError(f"{problem} {label(named, 80)}.", hint)
    return found[0]
