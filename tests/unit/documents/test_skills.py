"""Folders of skills read (`documents.skills`): what is one, and what is refused in a sentence."""

from __future__ import annotations

import pytest

from agentsvc_nb.documents.skills import SkillError, parse_skill, strip_front_matter


def main(name: str = "tone", description: str = "How we write.", text: str = "Short sentences.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n\n{text}\n"


def test_a_skill_has_its_name_its_description_and_its_files() -> None:
    front = "\ufeff---\r\nname: tone\r\ndescription: >\r\n  How we\r\n  write."
    front += "\r\nlicense: MIT\r\nmetadata:\r\n  a: [1]\r\n---\r\nBe dry."
    found = parse_skill("tone", {"references/words.md": "Tent.", "SKILL.md": front})
    assert (found.name, found.description) == ("tone", "How we write.")
    assert [*found.files] == ["SKILL.md", "references/words.md"]
    assert strip_front_matter(front) == "Be dry."


def test_numbers_and_words_of_yaml_stay_texts() -> None:
    assert parse_skill("2026", {"SKILL.md": main("2026", "yes")}).description == "yes"
    # Nothing is constructed of a tag.
    with pytest.raises(SkillError, match="`description`"):
        parse_skill("tone", {"SKILL.md": main(description="!!python/object/apply:os.abort []")})


@pytest.mark.parametrize(
    ("folder", "files", "why"),
    [
        ("Tone", {"SKILL.md": main("Tone")}, "'Tone' is not a valid skill name: use 1 to 64 lower-case letters"),
        ("tone", {"skill.md": main()}, "has no SKILL.md"),
        ("tone", {"SKILL.md": "Be dry."}, "does not begin with front matter"),
        ("tone", {"SKILL.md": main(description="[" * 5_000)}, "has over 500 brackets"),
        ("tone", {"SKILL.md": main(text="") + "x" * 500_000}, "has 500,0"),
        ("tone", {"SKILL.md": main(description="x" * 1_025)}, "`description` of 1 to 1,024 characters"),
        ("tone", {"SKILL.md": main("voice")}, "'tone' has the name 'voice'"),
        ("tone", {"SKILL.md": main(), "../key": "x"}, "'../key', which is not a relative path"),
        ("tone", {"SKILL.md": main(), **{f"{n}.md": "" for n in range(100)}}, "has 101 files; at most 100 are allowed"),
    ],
)
def test_what_is_no_skill_is_said_in_a_sentence(folder: str, files: dict[str, str], why: str) -> None:
    with pytest.raises(SkillError) as caught:
        parse_skill(folder, files)
    assert why in str(caught.value)


def test_repeated_references_take_no_time() -> None:
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 40))
    front = f"---\nl0: &l0 [x]\n{levels}name: tone\ndescription: Fine.\n---\n"
    assert parse_skill("tone", {"SKILL.md": front}).description == "Fine."
