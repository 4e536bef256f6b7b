"""Structured output: schemas with patterns, and schemas that would take for ever (docs/api/runs.md)."""

from __future__ import annotations

import pytest

from agentsvc_nb import AgentService, AgentServiceError


def test_an_answer_is_not_judged_by_a_pattern_for_ever(client: AgentService) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=.*z)a"}}}
    run = client.runs.start('answer {"a": "' + "a" * 500_000 + '"}', output_config=schema)
    assert client.runs.start("say beside it", sync=True).output == "beside it"
    fine = client.runs.start('answer {"a": "az"}', output_config=schema, sync=True)
    assert (fine.status, fine.structured_output) == ("completed", {"a": "az"})
    failed = client.runs.wait(run.run_id)
    assert (failed.status, failed.last_error) == ("failed", "output_schema_mismatch")


def test_a_schema_that_fans_out_is_refused_at_the_start(client: AgentService) -> None:
    parts = {f"A{n}": {"allOf": [{"$ref": f"#/$defs/A{n + 1}"}] * 2} for n in range(30)}
    schema = {"type": "object", "$defs": {**parts, "A30": {"type": "object"}}, "allOf": [{"$ref": "#/$defs/A0"}]}
    with pytest.raises(AgentServiceError, match="too long") as refused:
        client.runs.start("answer {}", output_config=schema)
    assert (refused.value.status, refused.value.code) == (400, "invalid_output_config")
