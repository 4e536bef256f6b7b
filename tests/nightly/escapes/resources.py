"""Ways to take the machine's disk, or what somebody has to keep of a run."""

from __future__ import annotations

from typing import Final

from tests.nightly.escapes import Escape

RESOURCES: Final = (
    Escape(
        "the disk by one file",
        "bounded",
        """
with open("large.bin", "wb") as file:
    for _ in range(6 * 1024):
        file.write(b"x" * (1 << 20))
through("6 GiB")
""",
    ),
    Escape(
        "the disk by many files",
        "bounded",
        """
for number in range(6 * 128):
    with open(f"large-{number}.bin", "wb") as file:
        file.write(b"x" * (8 << 20))
through("6 GiB")
""",
    ),
    Escape(
        "every other place that can be written",
        "bounded",
        """
written = 0
for top, folders, _ in list(os.walk("/")):
    if top.startswith(("/proc", "/sys")) or top == os.getcwd():
        continue
    try:
        with open(os.path.join(top, "escaped-" + host["token"]), "wb") as file:
            print("writable", top, flush=True)
            for _ in range(2 * 1024):
                written += file.write(b"x" * (1 << 20))
    except OSError as error:
        if error.errno not in REFUSALS:
            print(top, error, flush=True)
if written > 4 << 30:
    through("MiB", written >> 20)
""",
        then="""
found = [path for path in below("/") if "escaped-" + host["token"] in path and not path.startswith(("/proc",
    os.getcwd()))]
if found:
    through("files of the run before", found)
print("refused: nothing is there")
""",
    ),
    Escape(
        "deleted files that stay open",
        "bounded",
        """
held, written = [], 0
try:
    for number in range(6 * 16):
        file = open("gone", "wb", buffering=0)
        os.unlink("gone")
        held.append(file)
        for _ in range(64):
            written += file.write(b"x" * (1 << 20))
except OSError as error:
    print(error)
if written > 4 << 30:
    through("MiB", written >> 20)
""",
    ),
    Escape(
        "a file with a hole of a terabyte",
        "bounded",
        """
with open("sparse.bin", "wb") as file:
    file.truncate(1 << 40)
print("made")
""",
    ),
    Escape(
        "files with holes below any limit of one",
        "bounded",
        """
for number in range(64):
    with open(f"sparse-{number}.bin", "wb") as file:
        for size in (1 << 36, 1 << 34, 1 << 30, 1 << 28, 1 << 27, 1 << 26, 1 << 24):
            try:
                file.truncate(size)
                break
            except OSError:
                pass
print("made")
""",
    ),
    Escape(
        "a million small files",
        "bounded",
        """
for number in range(1_000_000):
    open(f"small-{number}.txt", "w").close()
print("made")
""",
    ),
    Escape(
        "ten thousand results",
        "bounded",
        """
for number in range(10_000):
    with open(f"small-{number}.txt", "w") as file:
        file.write(str(number))
print("made")
""",
    ),
    Escape(
        "a hundred thousand links",
        "bounded",
        """
open("one.txt", "w").write("one")
for number in range(100_000):
    os.link("one.txt", f"hard-{number}.txt")
    os.symlink("one.txt", f"soft-{number}.txt")
print("made")
""",
    ),
    Escape(
        "ten thousand folders, one in another",
        "bounded",
        """
for _ in range(10_000):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
open("deep.txt", "w").write("deep")
print("made")
""",
    ),
    Escape(
        "output without end",
        "bounded",
        """
while True:
    os.write(1, b"escaped\\n" * 8192)
""",
    ),
    Escape(
        "errors without end",
        "bounded",
        """
while True:
    os.write(2, b"x" * 65536)
""",
    ),
    Escape(
        "output in one line that is no text",
        "harmless",
        """
os.write(1, bytes(range(256)) * 4096)
os.write(2, b"\\x1b]0;title\\x07\\x1b[2J\\xff\\xfe\\x00\\xed\\xa0\\x80" * 1024)
""",
    ),
    Escape(
        "an exception as long as a book",
        "harmless",
        """
raise ValueError("x" * (64 << 20))
""",
    ),
    Escape(
        "a recursion without end",
        "harmless",
        """
sys.setrecursionlimit(10 ** 9)

def down(level):
    return down(level + 1)

down(0)
""",
    ),
)
