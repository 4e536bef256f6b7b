"""Read skills: folders with instructions for a kind of work, in the format of https://agentskills.io.

A skill's main file, `NAME/SKILL.md`, has YAML front matter with `name` and `description`, followed by Markdown. Other
files in the folder contain further texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from unicodedata import normalize

from agentsvc_nb.documents.media_types import safe_path
from agentsvc_nb.wire.limits import SKILL_BYTES, SKILL_FILES_MAX
from agentsvc_nb.wire.text import label

MAIN: Final = "SKILL.md"
NAME_CHARS: Final = 64
DESCRIPTION_CHARS: Final = 1_024
FRONT_MATTER_CHARS: Final = 8_000
BRACKETS_MAX: Final = 500
"""The maximum number of brackets in front matter, because the YAML reader takes quadratic time for nested ones."""
_RULE: Final = "---"
_NO_FRONT_MATTER: Final = "does not begin with front matter (`---`, `name: ...`, `description: ...`, `---`)"


class SkillError(ValueError):
    """The folder is not a valid skill. The message is a sentence that says why."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill: its name, its description, and the texts of its files by path."""

    name: str
    description: str
    files: Mapping[str, str]


def skill_name(folder: str) -> str:
    """Return the normalised name of the skill in this folder. Raises `SkillError` if it is not a valid name."""
    name = normalize("NFKC", folder)
    lowered = name == name.lower() and all(part.isalnum() for part in name.split("-"))
    if not lowered or len(name) > NAME_CHARS:
        raise SkillError(
            f"{label(folder, 80)!r} is not a valid skill name: use 1 to {NAME_CHARS} lower-case letters and digits, "
            "with single hyphens between them."
        )
    return name


def parse_skill(folder: str, files: Mapping[str, str]) -> Skill:
    """Return the skill that is in this folder with these files. Raises `SkillError` if they are not a valid skill."""
    name = skill_name(folder)
    if why := _find_fault(files):
        raise SkillError(f"The skill {name!r} {why}.")
    front = _front_matter(name, files[MAIN])
    said = normalize("NFKC", front.get("name", "").strip())
    if said != name:
        raise SkillError(f"The front matter of the skill {name!r} has the name {label(said, 80)!r}. Use the same name.")
    description = " ".join(front.get("description", "").split())
    if not 0 < len(description) <= DESCRIPTION_CHARS:
        why = f"`description` of 1 to {DESCRIPTION_CHARS:,} characters, but has {len(description):,}"
        raise SkillError(f"The front matter of the skill {name!r} needs a {why}.")
    return Skill(name, description, dict(sorted(files.items())))


def strip_front_matter(text: str) -> str:
    """Return the text of a `SKILL.md` without its front matter.

    >>> strip_front_matter("---\\nname: tone\\ndescription: How we write.\\n---\\n\\nShort sentences.\\n")
    'Short sentences.'
    """
    return _parts(text)[1].strip()


def _find_fault(files: Mapping[str, str]) -> str | None:
    """Return why these files are not a valid skill, as the end of a sentence, or None if they are."""
    if MAIN not in files:
        return f"has no {MAIN}"
    if len(files) > SKILL_FILES_MAX:
        return f"has {len(files):,} files; at most {SKILL_FILES_MAX} are allowed"
    for path in files:
        if safe_path(path) is None:
            return f"has a file {label(path, 80)!r}, which is not a relative path inside its folder"
    size = sum(len(text.encode("utf-8", "replace")) for text in files.values())
    return f"has {size:,} bytes of text; at most {SKILL_BYTES:,} are allowed" if size > SKILL_BYTES else None


def _parts(text: str) -> tuple[str | None, str]:
    """Divide a `SKILL.md`. Return its front matter (None if there is none) and the text below the front matter."""
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[0].rstrip() == _RULE:
        for place, line in enumerate(lines[1:], 1):
            if line.rstrip() == _RULE:
                return "\n".join(lines[1:place]), "\n".join(lines[place + 1 :])
    return None, text


def _front_matter(name: str, text: str) -> dict[str, str]:
    """Return the front matter's entries whose values are texts. Raises `SkillError` if it is missing or not valid."""
    import yaml

    front, _ = _parts(text)
    if front is None:
        raise SkillError(f"{MAIN} of the skill {name!r} {_NO_FRONT_MATTER}.")
    if len(front) > FRONT_MATTER_CHARS:
        raise SkillError(f"The front matter of the skill {name!r} has over {FRONT_MATTER_CHARS:,} characters.")
    if front.count("[") + front.count("{") > BRACKETS_MAX:
        raise SkillError(f"The front matter of the skill {name!r} has over {BRACKETS_MAX} brackets.")
    try:
        # `BaseLoader` keeps scalars as text and ignores tags, so untrusted YAML constructs no objects.
        found = yaml.load(front, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise SkillError(f"The front matter of the skill {name!r} is not valid YAML: {_why(error)}.") from None
    if not isinstance(found, dict):
        raise SkillError(f"{MAIN} of the skill {name!r} {_NO_FRONT_MATTER}.")
    return {key: each for key, each in found.items() if isinstance(key, str) and isinstance(each, str)}


def _why(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it can't be read"
    # The front matter begins on the file's second line.
    return label(str(problem), 200) + (f" (line {mark.line + 2})" if mark is not None else "")
