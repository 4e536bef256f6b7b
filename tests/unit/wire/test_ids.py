"""Shapes of ids (docs/api/conventions.md "Ids")."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsvc_nb.service.new_ids import new_id, new_key
from agentsvc_nb.wire import ids

UUID = "0b9c1f8e-6f0a-4c63-9a43-0c8e5f7d2a11"


@pytest.mark.parametrize(
    ("check", "good"),
    [
        (ids.is_chat, "chat_a-B_9"),
        (ids.is_chat, "chat_" + "x" * 64),
        (ids.is_chat, UUID),
        (ids.is_project, "proj_1"),
        (ids.is_upload, "upload_1"),
        (ids.is_run, UUID.upper()),
        (ids.is_idempotency_key, "a" * 128),
        (ids.is_idempotency_key, "A-z_0.:"),
    ],
)
def test_a_well_formed_id_is_taken(check: object, good: str) -> None:
    assert callable(check)
    assert check(good)


@pytest.mark.parametrize(
    ("check", "bad"),
    [
        (ids.is_chat, "chat_"),
        (ids.is_chat, "chat_" + "x" * 65),
        (ids.is_chat, "chat_ä"),
        (ids.is_chat, "chat_a\n"),
        (ids.is_chat, "proj_a"),
        (ids.is_project, "chat_a"),
        (ids.is_run, "run_1"),
        (ids.is_run, UUID + "0"),
        (ids.is_idempotency_key, ""),
        (ids.is_idempotency_key, "a" * 129),
        (ids.is_idempotency_key, "a b"),
        (ids.is_chat, None),
        (ids.is_chat, 7),
    ],
)
def test_an_ill_formed_one_is_not(check: object, bad: object) -> None:
    assert callable(check)
    assert not check(bad)


@given(st.sampled_from(["chat", "proj", "upload"]))
def test_new_ids_are_well_formed_and_new(prefix: str) -> None:
    made = new_id(prefix)
    assert {"chat": ids.is_chat, "proj": ids.is_project, "upload": ids.is_upload}[prefix](made)
    assert made != new_id(prefix)


def test_new_keys_hold_256_bits() -> None:
    assert new_key().startswith("svc_sk_")
    assert new_key(member=True).startswith("svc_oat_")
    assert len(new_key()) == len("svc_sk_") + 43
