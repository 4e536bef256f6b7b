"""Shapes of ids (docs/api/conventions.md "Ids")."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentsvc_nb.service.new_ids import new_key
from agentsvc_nb.wire import ids

UUID = "0b9c1f8e-6f0a-4c63-9a43-0c8e5f7d2a11"


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (
            ids.is_chat,
            ["chat_a-B_9", "chat_" + "x" * 64, UUID],
            ["chat_", "chat_" + "x" * 65, "chat_ä", "chat_a\n", "proj_a", None, 7],
        ),
        (ids.is_project, ["proj_1"], ["chat_a"]),
        (ids.is_upload, ["upload_1"], ["upload_"]),
        (ids.is_run, [UUID, UUID.upper()], ["run_1", UUID + "0"]),
        (ids.is_idempotency_key, ["a" * 128, "A-z_0.:"], ["", "a" * 129, "a b", "a\n"]),
    ],
)
def test_ids_are_well_formed_or_not(check: Callable[[object], bool], good: list[str], bad: list[object]) -> None:
    assert all(check(each) for each in good)
    assert [each for each in bad if check(each)] == []


def test_new_keys_hold_256_bits() -> None:
    assert new_key().startswith("svc_sk_")
    assert new_key(member=True).startswith("svc_oat_")
    assert len(new_key()) == len("svc_sk_") + 43
