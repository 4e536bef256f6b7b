"""What does it cost to look at a file, and what at one that is made to cost much? Each in a process of its own.

python -m tests.bench.previews [--quick]
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.notebook.display.file_table import OUTPUT_BYTES
from agentsvc_nb.notebook.previews.preview import HEAD_BYTES, preview_bundle
from agentsvc_nb.wire.files import WorkspaceFile
from tests.bench.process import peak_mb
from tests.notebook import samples

KERNEL_MB_MAX: Final = 120.0
"""Beyond what the process had before, the import of pandas for a CSV included."""
CHILD_MB_MAX: Final = 1_100.0


def _sparse(place: Path) -> None:
    place.write_bytes(b"n,word\n" + b"".join(b"%d,lamp\n" % n for n in range(100_000)))
    os.truncate(place, 2_000_000_000)


def _sparse_tree(place: Path) -> None:
    place.write_bytes(b"[" + b'{"a": 1},\n' * 50_000)
    os.truncate(place, 2_000_000_000)


def _written(make: Callable[[], bytes]) -> Callable[[Path], object]:
    return lambda place: place.write_bytes(make())


CASES: Final[dict[str, Callable[[Path], object]]] = {
    **{name: _written(make) for name, make in samples.HONEST.items()},
    "2 GB, sparse.csv": _sparse,
    "2 GB, sparse.json": _sparse_tree,
    "deep.json": _written(lambda: b"[" * 10_000_000),
    "20,000 pixels.png": _written(lambda: samples.wide_picture(written=True)),
    "9,900 pixels.png": _written(lambda: samples.wide_picture(9_900, written=True)),
    "20,000 pixels.jpg": _written(lambda: samples.picture("JPEG", (20_000, 20_000), "L")),
    "5,000 pages.pdf": _written(lambda: samples.pdf(["The plan"], 5_000)),
    "2 GB in a zip.xlsx": _written(lambda: samples.bomb(2_000)),
    "2 GB, says 1 kB.xlsx": _written(lambda: samples.bomb(2_000, 1_000)),
    "190 MB in a zip.xlsx": _written(lambda: samples.bomb(190)),
    "far corner.xlsx": _written(lambda: samples.workbook([["a"]], far=True)),
    "noise.html": _written(lambda: b"<p>" + b"\"&<'" * 5_000_000),
}


def main(quick: bool) -> None:
    chosen = [*samples.HONEST, "2 GB, sparse.csv", "5,000 pages.pdf"] if quick else [*CASES]
    print(f"{'file':24} {'MB':>8} {'s':>6} {'kernel, MB':>11} {'decoder, MB':>12} {'output, kB':>11}  what it says")
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            place = Path(folder, name)
            CASES[name](place)
            found = _apart(place)
            size = place.stat().st_size / 1e6
            print(
                f"{name:24} {size:8.1f} {found['seconds']:6.2f} {found['kernel']:11.0f} {found['decoder']:12.0f}"
                f" {found['output'] / 1000:11.1f}  {found['said'][:70]}"
            )
            place.unlink()
            assert found["kernel"] < KERNEL_MB_MAX, name
            assert found["decoder"] < CHILD_MB_MAX, name
            assert found["output"] <= OUTPUT_BYTES, name


def _apart(place: Path) -> dict[str, Any]:
    """Look at the file in a new process, whose peaks are this file's alone."""
    command = [sys.executable, "-m", "tests.bench.previews", "--one", str(place)]
    found: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return found


def one(place: Path) -> None:
    """Look at this file, and print what that took."""
    file = WorkspaceFile(id="0" * 64, path=place.name, size_bytes=place.stat().st_size)
    with place.open("rb") as opened:
        head = opened.read(HEAD_BYTES)
    before, began = peak_mb(os.getpid()), time.perf_counter()
    bundle = preview_bundle(file, head, lambda to: shutil.copyfile(place, to))
    print(
        json.dumps(
            {
                "seconds": time.perf_counter() - began,
                "kernel": peak_mb(os.getpid()) - before,
                # A child's peak counts what its parent had when it was made.
                "decoder": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
                "output": len(bundle["text/html"].encode()),
                "said": " / ".join(bundle["text/plain"].splitlines()[1:]),
            }
        )
    )


if __name__ == "__main__":
    if "--one" in sys.argv:
        one(Path(sys.argv[-1]))
    else:
        main("--quick" in sys.argv)
