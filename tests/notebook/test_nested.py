"""`allow_nested_loops()`: only on request, and not where it would lose cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.nested_loops import Version, choose, installed
from agentsvc_nb.testing import RunningService
from tests.notebook.jupyter import jupyter


def _found(**versions: Version) -> Any:
    return lambda package: versions.get(package.replace("-", "_"))


@pytest.mark.parametrize(
    ("versions", "package"),
    [
        ({"nest_asyncio2": (1, 7, 4), "nest_asyncio": (1, 6, 0), "ipykernel": (7, 4, 0)}, "nest-asyncio2"),
        ({"nest_asyncio": (1, 6, 0), "ipykernel": (6, 31, 0)}, "nest-asyncio"),
        ({"nest_asyncio2": (1, 7, 2), "ipykernel": (6, 31, 0)}, "nest-asyncio2"),
        ({"nest_asyncio": (1, 6, 0)}, "nest-asyncio"),
    ],
)
def test_the_safe_package_is_chosen(versions: dict[str, Version], package: str) -> None:
    assert choose(_found(**versions)) == package


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ({"nest_asyncio": (1, 6, 0), "ipykernel": (7, 3, 0)}, "nest-asyncio 1.6.0 would lose queued cells"),
        ({"nest_asyncio2": (1, 7, 2), "ipykernel": (7, 4, 0)}, "nest-asyncio2 1.7.2 would lose queued cells"),
        ({"ipykernel": (7, 4, 0)}, "Neither nest-asyncio2 nor nest-asyncio is installed"),
    ],
)
def test_it_refuses_where_it_would_lose_cells(versions: dict[str, Version], said: str) -> None:
    with pytest.raises(AskError, match=said) as caught:
        choose(_found(**versions))
    assert "nest-asyncio2" in caught.value.hint


def test_an_installed_package_has_numbers_and_another_has_none() -> None:
    assert (installed("pytest") or ())[:1] >= (8,)
    assert installed("no-such-package-anywhere") is None


def test_a_kernel_runs_nested_loops_and_our_magics_after_it(tmp_path: Path, service: RunningService) -> None:
    environ = {"SERVICE_API_KEY": service.api_key, "AGENTSVC_BASE_URL": service.base_url}
    with jupyter(tmp_path, **environ) as kernel:
        nested = "import asyncio\nprint(asyncio.run(asyncio.sleep(0, 'nested')))"
        refused = kernel.run(nested)
        assert refused.error is not None, "nothing of ours has patched it"
        assert kernel.run("import agentsvc_nb\nprint(agentsvc_nb.allow_nested_loops())").printed.startswith("nest-")
        assert kernel.run(nested).printed.strip() == "nested"
        assert kernel.run("%%ask -o answer\nsay hello", cell_id="c1").error is None
        assert kernel.run("print(answer.text)").printed.strip() == "hello"
