"""The service does what its OpenAPI document says, and refuses what the document rules out: schemathesis, all checks.

It sends what the document allows and what it does not, to every operation: the examples, the edges of each schema,
random requests, and sequences in which an answer's ids are used by the next request.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from agentsvc_nb.wire.routes import ROUTES
from tests.service.api.seeding import Known, Seeded

CONFIG = """
seed = 20260103
continue-on-failure = true
request-timeout = 20
max-stream-events = 100
hooks = "tests.service.api.openapi_hooks"
warnings = false

[generation]
max-examples = 12
no-shrink = true
database = "none"
allow-extra-parameters = false  # unknown fields and parameters are ignored (docs/api/conventions.md "Values")

[phases.stateful]
max-steps = 6

[[operations]]  # which bytes a file has is nothing that a schema knows
include-operation-id = "downloadFiles"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "416"]

"""
KNOWN = 0.6
"""How often a parameter is one that exists."""


@pytest.mark.timeout(400)
def test_the_service_and_its_document_agree(seeded: Seeded, tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text(CONFIG + _dictionaries(seeded.known))
    document = httpx.get(seeded.service.base_url + ROUTES["service.openapi"].path)
    (tmp_path / "openapi.json").write_bytes(document.content)
    arguments = [
        str(tmp_path / "openapi.json"),
        f"--url={seeded.service.base_url}",
        f"--header=Authorization: Bearer {seeded.service.api_key}",
        *(f"--exclude-operation-id={route.operation_id}" for name, route in ROUTES.items() if _is_left_out(name)),
    ]
    found = subprocess.run(
        [
            sys.executable,
            "-m",
            "schemathesis.cli",
            f"--config-file={tmp_path / 'schemathesis.toml'}",
            "run",
            *arguments,
        ],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[3]),
            "FUZZED_CHAT": seeded.known["query.chat"][0],
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-20_000:] + found.stderr[-2_000:]
    assert f"Tested: {sum(not _is_left_out(name) for name in ROUTES)}" in found.stdout
    counted = re.search(r"(\d+) generated", found.stdout)
    assert counted is not None
    assert int(counted[1]) > 1_000


def _is_left_out(name: str) -> bool:
    """Only a signed-in browser may call it."""
    return ROUTES[name].access == "session"


def _dictionaries(known: Known) -> str:
    """The known values as the fuzzer takes them: named lists, and the parameters that they are for."""
    lists = [
        f"[dictionaries.{parameter.replace('.', '_')}]\nvalues = {json.dumps(values)}"
        for parameter, values in known.items()
    ]
    uses = [
        f'"{parameter}" = {{ dictionary = "{parameter.replace(".", "_")}", probability = {KNOWN} }}'
        for parameter in known
    ]
    return "\n".join([*lists, "[parameters]", *uses])


@pytest.mark.parametrize("name", [name for name, route in ROUTES.items() if route.access == "key"])
def test_without_a_key_every_operation_is_a_401(seeded: Seeded, name: str) -> None:
    route = ROUTES[name]
    path = route.url(**dict.fromkeys(re.findall(r"{(\w+)}", route.path), "x"))
    answer = httpx.request(route.method, seeded.service.base_url + path)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "unauthorized"
