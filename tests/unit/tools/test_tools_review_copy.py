"""`review_copy`: facts that anybody can count again, against the platforms' limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.tools.support import copy_facts
from tests.unit.service.tooling import call, made, task


def review(folder: Path, **given_: Any) -> dict[str, Any]:
    outcome = call(made(folder, "review_copy"), task(folder), **given_)
    assert outcome.error is None
    assert outcome.data is not None
    return outcome.data


def test_parts_are_held_against_the_platforms_limits(tmp_path: Path) -> None:
    parts = {"headline": "a" * 30, "headline_2": "b" * 31, "description": "c d " * 20, "sitelink": "x" * 99}
    found = review(tmp_path, parts=parts, platform="google_search")
    assert [(part["name"], part["characters"], part["limit"]) for part in found["parts"]] == [
        ("headline", 30, 30), ("headline_2", 31, 30), ("description", 80, 90), ("sitelink", 99, None),
    ]  # fmt: skip
    assert [check["message"] for check in found["checks"] if check["name"] == "limit" and not check["passed"]] == [
        "headline_2: 31 of 30 characters."
    ]
    assert found["judgement"] is None


@pytest.mark.parametrize(
    ("text", "kind", "claim"),
    [
        ("The best tent", "superlative", "best"),
        ("Unser Zelt ist das günstigste", "superlative", "günstigste"),
        ("Jetzt kostenlos testen", "free", "kostenlos"),
        ("Detox in three days", "health", "Detox"),
        ("A bestiary of freedom, greenhouse", "superlative", None),
    ],
)
def test_claims_are_found_with_their_kind(text: str, kind: str, claim: str | None) -> None:
    assert [(one.kind, one.text) for one in copy_facts.claims(text)] == ([] if claim is None else [(kind, claim)])
