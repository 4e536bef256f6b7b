"""For a service that a test starts: names of the test's own hosts lead to this machine, and their certificates count.
Python imports this when it starts with the folder in PYTHONPATH."""

from __future__ import annotations

import os
import ssl

from agentsvc_nb.tools.support import fetching

_system = fetching._resolve


async def _resolve(host: str, port: int) -> list[str]:
    return ["127.0.0.1"] if host.endswith(".example") else await _system(host, port)


def _tls() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=os.environ["TEST_CERTIFICATE"])


fetching._resolve = _resolve
fetching.tls = _tls  # type: ignore[assignment]
