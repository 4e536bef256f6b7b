"""A server that speaks OpenAI's chat completions and answers by a script: in the place of a provider's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.unit.agents.wires.chat_completions import ChatCompletions
from tests.unit.agents.wires.reply import Reply as Reply
from tests.unit.agents.wires.server import ProviderServer


class ChatServer(ProviderServer):
    def __init__(self, replies: list[Reply], certificate: Path | None = None) -> None:
        super().__init__(ChatCompletions(), certificate)
        self.replies = [*replies]
        self.url += "/v1"


@contextlib.contextmanager
def chat_server(*replies: Reply, certificate: Path | None = None) -> Iterator[ChatServer]:
    with contextlib.closing(ChatServer(list(replies), certificate)) as server:
        yield server
