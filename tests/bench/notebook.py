"""What the notebook costs before anything is asked: `%load_ext` warm, and 100,000 files as a DataFrame.

python -m tests.bench.notebook [--quick]
"""

from __future__ import annotations

import subprocess
import sys

LOADS_MS = 60
FRAME_SECONDS = 1.5
FRAME_MB = 300

LOAD = """
import sys, time
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
start, cpu = time.perf_counter(), time.process_time()
shell.run_line_magic("load_ext", "agentsvc_nb")
print((time.perf_counter() - start) * 1000, (time.process_time() - cpu) * 1000)
heavy = {"httpx", "pandas", "markdown_it", "PIL", "pydantic", "ipywidgets", "agentsvc_nb.client"} & set(sys.modules)
assert not heavy, f"%load_ext imported {heavy}"
"""

FRAME = """
import sys, time, pandas
from agentsvc_nb.client.models import Listing
from agentsvc_nb.wire.files import WorkspaceFile
count = int(sys.argv[1])
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6
def entry(n):
    return {"id": f"{n:064x}", "path": f"out/{n % 100}/file-{n}.csv", "file_name": f"file-{n}.csv", "kind": "output",
            "media_type": "text/csv", "size_bytes": n, "updated_at": "2026-11-21T06:00:00.000Z",
            "run_id": "11111111-1111-4111-8111-111111111111", "download_url": "/api/developers/v1/files/download?x"}
files = Listing((WorkspaceFile.model_validate(entry(n)) for n in range(count)), WorkspaceFile)
before = resident()
start, cpu = time.perf_counter(), time.process_time()
table = files.to_frame()
taken = time.perf_counter() - start, time.process_time() - cpu
peak = int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) / 1000
assert len(table) == count and str(table.dtypes["size_bytes"]) == "Int64"
assert str(table.dtypes["updated_at"]) == "datetime64[ns, UTC]"
print(*taken, before, peak)
"""


def main(quick: bool) -> None:
    loads = [_python(LOAD) for _ in range(3 if quick else 9)]
    clock, cpu = (sorted(values)[len(values) // 2] for values in zip(*loads[1:], strict=True))
    print(f"%load_ext, warm, median: {clock:.0f} ms, {cpu:.0f} ms of CPU (aim: {LOADS_MS} ms)")
    count = 10_000 if quick else 100_000
    clock, cpu, before, peak = _python(FRAME, str(count))
    more = peak - before
    print(
        f"{count:,} files to a DataFrame: {clock:.2f} s, {cpu:.2f} s of CPU, {more:.0f} MB more at the peak"
        f" (aim at 100,000: {FRAME_SECONDS} s, {FRAME_MB} MB)"
    )


def _python(code: str, *arguments: str) -> list[float]:
    done = subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True)
    return [float(number) for number in done.stdout.split()]


if __name__ == "__main__":
    main("--quick" in sys.argv)
