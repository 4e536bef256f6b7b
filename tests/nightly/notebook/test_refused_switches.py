"""A switch to a model that does not answer, or whose key belongs to another address."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentsvc_nb import embedded
from agentsvc_nb.language_models.switch import Dialogue, SwitchError, switch
from tests.nightly.notebook.test_switches import (
    KEY,
    MODEL,
    NO_CREDIT,
    SLOW_SECONDS,
    Talk,
    Wanting,
)
from tests.nightly.notebook.test_switches import data as data
from tests.nightly.notebook.test_switches import form as form
from tests.nightly.notebook.test_switches import gateway as gateway
from tests.nightly.notebook.test_switches import provider as provider
from tests.notebook.conftest import own_folders as own_folders
from tests.unit.agents.wires.reply import Reply
from tests.unit.agents.wires.server import ProviderServer, provider_server


def test_a_kept_key_goes_to_the_address_alone_that_it_was_typed_for(
    data: Path, gateway: ProviderServer, form: Wanting, monkeypatch: pytest.MonkeyPatch
) -> None:
    Talk(KEY).switch(MODEL)
    form.keys.clear()
    other = Wanting()
    with provider_server(other) as elsewhere:
        elsewhere.answers(Reply(("Green",)))
        monkeypatch.setenv("ANTHROPIC_BASE_URL", elsewhere.url)
        embedded.stop(data)
        with pytest.raises(SwitchError, match="Nobody can be asked"):
            switch(MODEL, Dialogue(None, None, lambda line: None, "agentsvc model"))
        assert (other.keys, form.keys) == ([], [])


@pytest.mark.parametrize(
    ("break_it", "model", "sentence"),
    [
        (
            lambda form, provider: None,
            MODEL,
            "That key was refused, and is not kept: invalid x-api-key: [redacted] (401).",
        ),
        (
            lambda form, provider: setattr(form, "credit", False),
            MODEL,
            f"There is no credit for {MODEL}: {NO_CREDIT[:-1]}",
        ),
    ],
    ids=["wrong key", "no credit"],
)
def test_what_keeps_it_from_answering_is_a_sentence_and_the_model_before_stays(
    data: Path,
    gateway: ProviderServer,
    form: Wanting,
    break_it: Callable[[Wanting, ProviderServer], None],
    model: str,
    sentence: str,
) -> None:
    embedded.find_or_start(data, model="scripted", timeout=SLOW_SECONDS)
    before = embedded.status(data)
    break_it(form, gateway)
    key = "sk-wrong" if "key was refused" in sentence else KEY
    with pytest.raises(SwitchError) as caught:
        Talk(key).switch(model)
    assert sentence in caught.value.message
    assert caught.value.message.endswith("scripted stays.")
    assert ("asks for it again" in caught.value.hint) == ("key was refused" in sentence)
    assert "\n" not in str(caught.value)
    assert embedded.status(data) == before, "nothing was restarted"
    assert not (data / "model-keys.json").exists()
