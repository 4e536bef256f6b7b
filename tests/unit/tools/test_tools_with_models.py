"""Tools that ask a language model: what they ask, what they do with its answer, and what they are without one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.catalog import tools
from agentsvc_nb.tools.port import Meter, Tool, WorkFailure
from agentsvc_nb.tools.workspace_port import StoredMedia
from tests.unit.service.tooling import call, task

ANGLE = {"name": "Light", "audience": "Parents", "hook": "Carry less", "why": "Tired backs", "proof": "A scale"}
JUDGED = {"verdict": "good", "strengths": ["short"], "weaknesses": [], "rewrite": "Pack light."}


class Model:
    """Answers what it is told to, and keeps what it was asked. Each schema is one that providers take."""

    def __init__(self, answer: Mapping[str, Any] | WorkFailure) -> None:
        self.answer, self.prompts = answer, list[str]()

    async def __call__(self, prompt: str, schema: Mapping[str, Any], meter: Meter) -> dict[str, Any]:
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        self.prompts.append(prompt)
        meter.use(10, 5, 1)
        if isinstance(self.answer, WorkFailure):
            raise self.answer
        return dict(self.answer)


def with_model(folder: Path, name: str, model: Model | None) -> Tool:
    return tools(Settings(folder / "data"), model)[name]


def test_angles_come_from_the_model_and_no_more_than_asked_for(tmp_path: Path) -> None:
    model = Model({"angles": [ANGLE] * 4})
    tool = with_model(tmp_path, "find_angles", model)
    outcome = call(tool, task(tmp_path), product="A tent {of 2 kilos}", audience="families", count=2)
    assert outcome.data == {"angles": [ANGLE] * 2, "brand_files": []}
    assert outcome.content[0]["text"] == "\n".join([f"- {ANGLE['name']}: {ANGLE['hook']}"] * 2), "a Markdown list"
    assert tool.available()
    assert "A tent {of 2 kilos}" in model.prompts[0]
    assert "families" in model.prompts[0]


@pytest.mark.rule("A tool that needs a model is `not_configured` without one.")
def test_without_a_model_it_says_what_to_set(tmp_path: Path) -> None:
    outcome = call(with_model(tmp_path, "find_angles", None), task(tmp_path), product="x")
    assert outcome.error is not None
    assert outcome.error[0] == "not_configured"
    assert "AGENTSVC_MODEL" in outcome.error[1]
    assert with_model(tmp_path, "find_angles", None).available() is False


@pytest.mark.parametrize("name", ["review_copy", "find_angles"])
def test_a_limit_of_money_ends_the_work(name: str, tmp_path: Path) -> None:
    """Whatever rules found: who set the limit is to see that it was reached (docs/decisions/08)."""
    model = Model(WorkFailure("limit_reached", "That is all."))
    outcome = call(with_model(tmp_path, name, model), task(tmp_path), text="A tent", product="A tent")
    assert outcome.error == ("limit_reached", "That is all.")
    assert outcome.data is None


@pytest.mark.parametrize(("name", "answer"), [("review_copy", JUDGED), ("find_angles", {"angles": []})])
def test_the_brands_files_are_told_to_the_model(name: str, answer: dict[str, Any], tmp_path: Path) -> None:
    at, model = task(tmp_path), Model(answer)
    at.files.put("BRAND.md", b"Never say cheap.")
    at.files.put("notes/tone-of-voice.txt", b"z" * 20_000)
    at.files.put("report.md", b"secret figures")
    outcome = call(with_model(tmp_path, name, model), at, text="The best tent", product="The best tent")
    assert outcome.data is not None
    assert outcome.data["brand_files"] == ["BRAND.md", "notes/tone-of-voice.txt"]
    assert "Never say cheap." in model.prompts[0]
    assert "secret figures" not in model.prompts[0]
    assert model.prompts[0].count("z") < 6_100
    assert ("superlative" in model.prompts[0]) is (name == "review_copy"), "and what was counted"


def test_parts_are_held_against_the_platforms_limits(tmp_path: Path) -> None:
    parts = {"headline": "a" * 30, "headline_2": "b" * 31, "description": "c d " * 20, "sitelink": "x" * 99}
    outcome = call(with_model(tmp_path, "review_copy", None), task(tmp_path), parts=parts, platform="google_search")
    assert outcome.data is not None
    found = outcome.data
    assert [(part["name"], part["characters"], part["limit"]) for part in found["parts"]] == [
        ("headline", 30, 30), ("headline_2", 31, 30), ("description", 80, 90), ("sitelink", 99, None),
    ]  # fmt: skip
    assert [check["message"] for check in found["checks"] if check["name"] == "limit" and not check["passed"]] == [
        "headline_2: 31 of 30 characters."
    ]
    assert found["judgement"] is None


def test_videos_are_facts_without_a_model_and_told_to_one(tmp_path: Path) -> None:
    at, model = task(tmp_path), Model({"ideas": []})
    said = [{"start_s": 1.0, "end_s": 3.0, "text": "Stop buying tents"}, {"start_s": 5.0, "end_s": 6.0, "text": "Rent"}]
    transcript = {"text": "Stop buying tents Rent", "segments": said}
    at.kept["media_a"] = StoredMedia("media_a", "video", None, 10.0, transcript, lambda: at.files.open("a.mp4"))
    tools_ = [with_model(tmp_path, "research_shortform", given) for given in (None, model)]
    without, told = (call(tool, at, topic="tents", media_ids=["media_a"] * 2) for tool in tools_)
    assert without.data is not None
    assert told.data is not None
    (facts,) = without.data["videos"]
    assert (facts["hook"], facts["longest_pause_s"], facts["words_per_minute"]) == ("Stop buying tents", 2.0, 24.0)
    assert (without.data["ideas"], told.data["ideas"]) == (None, [])
    assert "Stop buying tents Rent" in model.prompts[0]
