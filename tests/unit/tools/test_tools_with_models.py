"""Tools that ask a language model: what they ask, what they do with its answer, and what they are without one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agentsvc_nb.service.runner.tool_context import StoredMedia
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.catalog import tools
from agentsvc_nb.tools.port import Meter, Tool, WorkFailure
from tests.unit.service.agents_harness import MemoryToolContext
from tests.unit.service.tooling import call, task

ANGLE = {"name": "Light", "audience": "Parents", "hook": "Carry less", "why": "Tired backs", "proof": "A scale"}
JUDGED = {"verdict": "good", "strengths": ["short"], "weaknesses": [], "rewrite": "Pack light."}
SAID = {
    "language": "en",
    "text": "Stop buying heavy tents now",
    "segments": [
        {"start_s": 0.5, "end_s": 2.0, "text": "Stop buying"},
        {"start_s": 2.5, "end_s": 4.0, "text": "heavy tents"},
        {"start_s": 6.0, "end_s": 7.0, "text": "now"},
    ],
}


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


def video(folder: Path, transcript: dict[str, Any] | None) -> MemoryToolContext:
    at = task(folder)
    at.kept["media_1"] = StoredMedia("media_1", "video", None, 8.0, transcript, lambda: nullcontext(folder / "none"))
    return at


def test_angles_come_from_the_model_and_no_more_than_asked_for(tmp_path: Path) -> None:
    model = Model({"angles": [ANGLE] * 4})
    tool = with_model(tmp_path, "find_angles", model)
    outcome = call(tool, task(tmp_path), product="A tent {of 2 kilos}", audience="families", count=2)
    assert outcome.data == {"angles": [ANGLE] * 2, "claims": [], "brand_files": []}
    assert outcome.content[0]["text"] == "\n".join([f"- {ANGLE['name']}: {ANGLE['hook']}"] * 2), "a Markdown list"
    assert tool.available()
    assert "A tent {of 2 kilos}" in model.prompts[0]
    assert "families" in model.prompts[0]


@pytest.mark.parametrize(("name", "given"), [("find_angles", {"product": "x"}), ("research_shortform", {"topic": "x"})])
def test_without_a_model_it_says_what_to_set(name: str, given: dict[str, str], tmp_path: Path) -> None:
    outcome = call(with_model(tmp_path, name, None), task(tmp_path), **given)
    assert outcome.error is not None
    assert outcome.error[0] == "not_configured"
    assert "AGENTSVC_MODEL" in outcome.error[1]
    assert with_model(tmp_path, "find_angles", None).available() is False


@pytest.mark.parametrize("failure", [WorkFailure("model_unavailable", "It is away."), {"verdict": "?"}])
def test_a_review_keeps_its_facts_when_the_model_fails(tmp_path: Path, failure: Any) -> None:
    outcome = call(with_model(tmp_path, "review_copy", Model(failure)), task(tmp_path), text="The best tent")
    assert outcome.error is None
    assert outcome.data is not None
    assert (outcome.data["judgement"], outcome.data["claims"][0]["kind"]) == (None, "superlative")
    assert outcome.data["not_judged"].startswith(("model_unavailable: It is away.", "output_schema_mismatch: "))
    assert f"not judged by a model: {outcome.data['not_judged']}" in outcome.content[0]["text"]


@pytest.mark.parametrize("name", ["review_copy", "find_angles"])
def test_a_limit_of_money_ends_the_work(name: str, tmp_path: Path) -> None:
    """Whatever rules found: who set the limit is to see that it was reached (docs/decisions/0037)."""
    model = Model(WorkFailure("limit_reached", "That is all."))
    outcome = call(with_model(tmp_path, name, model), task(tmp_path), text="A tent", product="A tent")
    assert outcome.error == ("limit_reached", "That is all.")
    assert outcome.data is None


@pytest.mark.parametrize(("name", "answer"), [("review_copy", JUDGED), ("find_angles", {"angles": []})])
def test_the_brands_files_are_told_to_the_model(name: str, answer: dict[str, Any], tmp_path: Path) -> None:
    at, model = task(tmp_path), Model(answer)
    at.files.put("BRAND.md", b"Never say cheap.")
    at.files.put("notes/tone-of-voice.txt", b"z" * 20_000)
    at.files.put("brand.png", b"\x89PNG")
    at.files.put("branding.md", b"  ")
    at.files.put("report.md", b"secret figures")
    outcome = call(with_model(tmp_path, name, model), at, text="The best tent", product="The best tent")
    assert outcome.data is not None
    assert outcome.data["brand_files"] == ["BRAND.md", "notes/tone-of-voice.txt"]
    assert "Never say cheap." in model.prompts[0]
    assert "secret figures" not in model.prompts[0]
    assert model.prompts[0].count("z") < 6_100
    assert "superlative" in model.prompts[0], "and what was counted"


def test_videos_are_counted_without_a_model(tmp_path: Path) -> None:
    tool = with_model(tmp_path, "research_shortform", None)
    outcome = call(tool, video(tmp_path, SAID), topic="tents", media_ids=["media_1", "media_1"])
    assert outcome.data is not None
    assert outcome.data["ideas"] is None
    (found,) = outcome.data["videos"]
    assert (found["words"], found["words_per_minute"], found["duration_s"]) == (5, 37.5, 8.0)
    assert (found["hook"], found["hook_s"], found["longest_pause_s"]) == ("Stop buying heavy tents", 0.5, 2.0)
    assert found["ends_with"] == "now"


def test_the_echo_is_there_for_the_scripted_model_alone(tmp_path: Path) -> None:
    assert "echo_job" not in tools(Settings(tmp_path))
    assert "echo_job" in tools(Settings(tmp_path, model="scripted"))
