"""The arguments of operations with overloads (`groups.py`), for type checkers. The operations themselves have one
signature each, which `?` shows; `tests/client/test_typing.py` holds the two together."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from agentsvc_nb.client.client_tools import ClientTool, Function
from agentsvc_nb.client.options import Options, WaitOptions
from agentsvc_nb.client.references import ChatRef, IdRef
from agentsvc_nb.client.transport.io import OnBytes
from agentsvc_nb.client.uploads import FileInput
from agentsvc_nb.client.waiting import OnBusy
from agentsvc_nb.wire.models import Effort

T = TypeVar("T")
Later = Coroutine[Any, Any, T]


class _Work(WaitOptions, total=False):
    """Arguments of `start` and `start_and_stream`, but for the message and `output_config`."""

    chat: ChatRef | None
    project: IdRef | None
    session: str | None
    on_busy: OnBusy | None
    files: Sequence[FileInput]
    file_ids: Sequence[IdRef]
    files_from: ChatRef | None
    idempotency_key: str | None
    model: IdRef | None
    effort: Effort | None
    max_steps: int | None
    max_cents: float | None
    client_tools: Sequence[ClientTool | Function]
    timeout: float | None


class StartArguments(_Work, total=False):
    sync: bool


class StreamArguments(_Work, total=False):
    pass


class WaitArguments(WaitOptions, total=False):
    timeout: float | None
    poll: float


class DownloadArguments(Options, total=False):
    chat: ChatRef | None
    on_progress: OnBytes | None
