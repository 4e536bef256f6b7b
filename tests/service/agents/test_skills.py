"""Skills of a project, through the whole service: told by name and description, read when they are asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentsvc_nb.service.folder import DataFolder
from tests.service.agents.serving import Serving, language_service, service_here
from tests.unit.agents.chat_server import ChatServer, Reply

TONE = "---\nname: tone\ndescription: How we write headlines.\n---\nEnd each with the word in words.md."
DONE = Reply(("Done.",))


class Following(ChatServer):
    """A model that reads the skill whose description fits the question, then the file that its text names, and does
    what they say. It knows nothing but what it is sent."""

    def next(self, body: dict[str, Any]) -> Reply:
        self.asked.append(body)
        first, last = body["messages"][0]["content"], body["messages"][-1]
        if last["role"] == "user":
            [line] = [line for line in first.splitlines() if line.startswith("- ") and "headlines" in line]
            return Reply(calls=(("read_skill", json.dumps({"name": line[2:].partition(":")[0]})),))
        name = json.loads(body["messages"][-2]["tool_calls"][0]["function"]["arguments"])["name"]
        if "word in " in last["content"]:
            path = last["content"].partition("word in ")[2].split(".md")[0] + ".md"
            return Reply(calls=(("read_skill", json.dumps({"name": name, "path": path})),))
        return Reply((f"Pack light, {last['content'].strip()}!",))


def with_skills(it: Serving) -> str:
    project = it.client.projects.create("Autumn").id
    it.client.projects.update(project, skills={"tone": {"SKILL.md": TONE, "words.md": "ahoy"}})
    return project


def parts(it: Serving, run: Any) -> list[str]:
    return [part.what for call in it.client.runs.sent(run) for part in call.parts]


def test_a_skill_is_told_of_read_when_it_is_asked_for_and_followed(tmp_path: Path) -> None:
    server = Following([])
    try:
        with service_here("openai-chat:x", tmp_path, model_url=server.url, model_context=8_192) as client:
            it = Serving(DataFolder(tmp_path), client, server)
            run = it.ask("A headline, please.", project=with_skills(it))
            assert (run.status, run.output) == ("completed", "Pack light, ahoy!")
            assert len(server.asked) == 3
            beginning = json.dumps(server.asked[0])
            assert "- tone: How we write headlines." in beginning
            assert "End each with" not in beginning
            assert "ahoy" not in json.dumps(server.asked[1])
            assert "description: How" not in json.dumps(server.asked[1]), "the front matter was told"
            assert parts(it, run)[:4] == ["instructions", "skills", "tools", "message"]
            [told] = [part.text for part in it.client.runs.sent(run)[0].parts if part.what == "skills"]
            assert told.endswith("- tone: How we write headlines.")
            assert it.events(run, "warning") == []
    finally:
        server.close()


def test_who_chooses_among_no_tools_says_that_skills_are_not_followed() -> None:
    with language_service(DONE, model_tools="no") as it:
        run = it.ask("A headline, please.", project=with_skills(it))
        assert [warning["code"] for warning in it.events(run, "warning")] == ["skills_not_used", "tools_not_used"]
        assert "How we write" not in it.last()[0]["content"]
