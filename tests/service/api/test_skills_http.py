"""Skills of a project (docs/api/runs.md "Chats and projects")."""

from __future__ import annotations

from typing import Any

import pytest

from agentsvc_nb import AgentService
from tests.service.api.conftest import Wire, code

TONE = "---\nname: tone\ndescription: How we write.\n---\nBe dry."


def facts(project: Any) -> list[tuple[str, str, list[str]]]:
    return [(skill["name"], skill["description"], skill["files"]) for skill in project["skills"]]


def test_skills_are_put_listed_replaced_and_taken_away(wire: Wire, client: AgentService) -> None:
    path = f"/projects/{client.projects.create('Autumn').id}"
    other = TONE.replace("tone", "größe")
    skills = {"tone": {"SKILL.md": TONE, "a/b.md": "\0 é"}, "größe": {"SKILL.md": other}}
    assert facts(wire("PATCH", path, json={"skills": skills}).json()) == [
        ("größe", "How we write.", ["SKILL.md"]),
        ("tone", "How we write.", ["SKILL.md", "a/b.md"]),
    ]
    changed = TONE.replace("How we write", "Our words")
    assert wire("PATCH", path, json={"skills": {"tone": {"SKILL.md": changed}}}).status_code == 200
    assert wire("PATCH", path, json={"name": "Winter"}).json()["skills"]
    [listed] = [each for each in client.projects.list() if path.endswith(each.id)]
    assert [skill.description for skill in listed.skills] == ["How we write.", "Our words."]
    left = wire("PATCH", path, json={"skills": {"größe": {}, "never": {}}}).json()
    assert facts(left) == [("tone", "Our words.", ["SKILL.md"])]


@pytest.mark.parametrize(
    ("skills", "refused"),
    [
        ({"tone": {"SKILL.md": TONE}, "Tone": {"SKILL.md": TONE}}, "invalid_skill"),
        ({"tone": {"SKILL.md": TONE, "../x": ""}}, "invalid_skill"),
        ({f"n{n}": {"SKILL.md": TONE.replace("tone", f"n{n}")} for n in range(51)}, "invalid_skill"),
        ({"tone": {"SKILL.md": 1}}, "invalid_json"),
    ],
)
def test_what_is_no_skill_changes_nothing(wire: Wire, client: AgentService, skills: Any, refused: str) -> None:
    path = f"/projects/{client.projects.create('Autumn').id}"
    answer = wire("PATCH", path, json={"name": "Winter", "skills": skills})
    assert (answer.status_code, code(answer)) == (400, refused)
    [listed] = [each for each in client.projects.list() if path.endswith(each.id)]
    assert (listed.name, listed.skills) == ("Autumn", [])


def test_a_run_reads_the_skills_of_its_project_alone(wire: Wire, client: AgentService) -> None:
    mine, other = (client.projects.create(name).id for name in "ab")
    client.projects.update(mine, skills={"tone": {"SKILL.md": TONE, "words.md": "Tent, not shelter."}})
    calls = ['call read_skill {"name": "tone"}', 'call read_skill {"name": "tone", "path": "words.md", "start": 6}']
    calls += ['call read_skill {"name": "tone", "path": "../words.md"}', 'call read_skill {"name": "../tone"}']
    run, elsewhere = wire.finish("\n".join(calls), project=mine), wire.finish(calls[0], project=other)
    told, refused = (
        [event["payload"] for event in wire.events(one["run_id"]) if event["type"] == "tool.result"]
        for one in (run, elsewhere)
    )
    first, second = (result["content"][0]["text"] for result in told[:2])
    assert first.startswith("Be dry.\n")
    assert "words.md" in first, "its further files"
    assert second.startswith("not shelter.\n")
    assert [result["is_error"] for result in told + refused] == [False, False, True, True, True]
