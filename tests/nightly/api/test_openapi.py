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
from collections import defaultdict
from pathlib import Path

import httpx
import pytest

from agentsvc_nb.wire.routes import ROUTES
from tests.service.api.service_fixture import ServiceFixture
from tests.service.api.test_every_route import RIGHT

CONFIG = """
seed = 20260103
continue-on-failure = true
request-timeout = 20
max-stream-events = 100
hooks = "tests.nightly.api.openapi_hooks"
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
LEFT_OUT = [route.operation_id for route in ROUTES.values() if route.access == "session"]
"""Only a signed-in browser may call these."""


@pytest.mark.rule("The service does what its description says and refuses what that rules out.")
@pytest.mark.timeout(400)
def test_the_service_and_its_document_agree(stage: ServiceFixture, tmp_path: Path) -> None:
    service = stage.other(sync_hold_seconds=0.1, ask_handle_seconds=0.1, max_file_bytes=100_000)
    known = known_values(ServiceFixture(service, stage.stack))
    (tmp_path / "schemathesis.toml").write_text(CONFIG + dictionaries(known))
    document = httpx.get(service.base_url + ROUTES["service.openapi"].path)
    (tmp_path / "openapi.json").write_bytes(document.content)
    command = [sys.executable, "-m", "schemathesis.cli", f"--config-file={tmp_path / 'schemathesis.toml'}", "run"]
    arguments = [
        str(tmp_path / "openapi.json"),
        f"--url={service.base_url}",
        f"--header=Authorization: Bearer {service.api_key}",
        *(f"--exclude-operation-id={operation}" for operation in LEFT_OUT),
    ]
    environment = {"PYTHONPATH": str(Path(__file__).parents[3]), "FUZZED_CHAT": known["query.chat"][0]}
    found = subprocess.run(
        [*command, *arguments],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-20_000:] + found.stderr[-2_000:]
    assert f"Tested: {len(ROUTES) - len(LEFT_OUT)}" in found.stdout
    counted = re.search(r"(\d+) generated", found.stdout)
    assert counted is not None
    assert int(counted[1]) > 1_000


def known_values(stage: ServiceFixture) -> dict[str, list[str]]:
    """Values that exist, by the parameter that takes them, such as `query.chat_id`: those of right requests."""
    known: dict[str, list[str]] = defaultdict(list)
    for name, make in RIGHT.items():
        if ROUTES[name].access == "session":
            continue
        right = make(stage)
        parts = {f"path.{part}": value for part, value in right.parts.items()}
        query = {f"query.{part}": value for part, value in right.options.get("params", {}).items()}
        for parameter, value in {**parts, **query}.items():
            known[parameter].append(str(value))
    known["body.tool"] = ["create_images", "echo_job"]
    return known


def dictionaries(known: dict[str, list[str]]) -> str:
    """The known values as the fuzzer takes them: named lists, and the parameters that they are for."""
    lists, uses = [], []
    for parameter, values in known.items():
        name = parameter.replace(".", "_")
        lists.append(f"[dictionaries.{name}]\nvalues = {json.dumps(values)}")
        uses.append(f'"{parameter}" = {{ dictionary = "{name}", probability = {KNOWN} }}')
    return "\n".join([*lists, "[parameters]", *uses])
