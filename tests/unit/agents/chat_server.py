"""A server that speaks OpenAI's chat completions and answers by a script: in the place of a provider's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tests.unit.agents.wires.chat_completions import ChatCompletions
from tests.unit.agents.wires.reply import Reply as Reply
from tests.unit.agents.wires.server import ProviderServer


class ChatServer(ProviderServer):
    def __init__(self, replies: list[Reply]) -> None:
        super().__init__(ChatCompletions())
        self.replies = [*replies]
        self.url += "/v1"


@contextlib.contextmanager
def chat_server(*replies: Reply) -> Iterator[ChatServer]:
    with contextlib.closing(ChatServer(list(replies))) as server:
        yield server
