"""Every operation of the client, through both faces, against a real service."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from agentsvc_nb import AgentService, AsyncAgentService, AuthenticationError
from tests.service.api import operations_on_runs, operations_on_work
from tests.service.api.operations import CASES, operations_of
from tests.service.api.service_fixture import ServiceFixture

FACES = pytest.mark.parametrize("face", [AgentService, AsyncAgentService])
OPERATIONS = pytest.mark.parametrize("operation", CASES)
CASES_OF = (operations_on_runs, operations_on_work)
assert CASES, "importing these has filled it"


@FACES
def test_the_cases_are_all_operations(face: type[Any]) -> None:
    client = face("svc_sk_x")
    assert operations_of(client) == set(CASES)
    # And nothing that can be called on a client is none: but for these, which are about the client itself.
    called = {name for name in dir(client) if not name.startswith("_") and inspect.ismethod(getattr(client, name))}
    assert called == {"ask", "close", "map", "with_options"}


@OPERATIONS
@FACES
def test_an_operation_does_its_work(face: type[Any], operation: str, stage: ServiceFixture) -> None:
    use(face, stage.service.api_key, operation, stage)


@OPERATIONS
@FACES
def test_an_operation_without_a_right_key(face: type[Any], operation: str, stage: ServiceFixture) -> None:
    with pytest.raises(AuthenticationError) as caught:
        use(face, "svc_sk_unknown", operation, stage)
    error = caught.value
    assert (error.code, error.status, error.attempts) == ("unauthorized", 401, 1)
    assert error.request_id
    assert error.hint
    assert (error.path or "").startswith("/api/developers/v1/")
    assert "svc_sk_unknown" not in f"{error!r} {error}"


def use(face: type[Any], key: str, operation: str, stage: ServiceFixture) -> None:
    """The client for scripts works inside a running event loop, too."""

    async def work() -> None:
        client = face(key, stage.service.base_url)
        try:
            await CASES[operation](client, stage)
        finally:
            closing = client.close()
            if closing is not None:
                await closing

    asyncio.run(work())
