"""What closing a response or a client does to those who wait for it in another thread or task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentsvc_nb.client.errors import StefanBrainError, client_closed
from agentsvc_nb.client.transport import deadlines
from agentsvc_nb.client.transport.forks import streamed
from agentsvc_nb.client.transport.io import Response
from agentsvc_nb.client.transport.messages import Library, failure
from agentsvc_nb.client.transport.stopping import Stopper, WeakRegistry

if TYPE_CHECKING:
    import httpx


class InFlightRequests:
    """What closing the client ends: calls that wait for an answer, and streamed responses."""

    def __init__(self) -> None:
        self.calls: set[Stopper] = set()
        self.responses: WeakRegistry[Response] = WeakRegistry()

    def streamed(self, response: Response) -> Response:
        return streamed.add(self.responses.add(response))

    def end(self) -> list[Any]:
        """End all waits. Returns the library's responses, which are to be closed."""
        for call in self.calls.copy():
            call.stop()
        raw = []
        for response in self.responses:
            raw.append(response.raw)
            response.cut_off("the client was closed")
        return [one for one in raw if one]


def hang_up(response: httpx.Response) -> None:
    """Close a response of the library, and wake a thread that reads it."""
    if not response.is_closed:
        if stream := response.extensions.get("network_stream"):
            deadlines.shut_down(stream)
        response.close()


def interrupted(response: httpx.Response) -> None:
    """Shut the connection of a response down that Ctrl-C came in. It may have come as the library notes that the
    connection takes the next request: httpcore 1.0 says so before it can."""
    if stream := response.extensions.get("network_stream"):
        deadlines.shut_down(stream)


def failed(error: Exception, response: Response, chunks: Any, library: Library) -> StefanBrainError:
    """The error for a read of these chunks that failed: of another kind if the response was cut off meanwhile."""
    if response.chunks is not chunks:
        return client_closed()
    return error if isinstance(error, StefanBrainError) else failure(error, library)
