"""Build the site into build/site, and pack it into agentsvc_nb/docs.tar.xz, which wheels take along.

    python -m docs.site [FOLDER [ARCHIVE]]

A warning, a link that leads nowhere and a name that the code does not have are errors.
"""

from __future__ import annotations

import shutil
import sys
import tarfile
from importlib.metadata import distribution
from pathlib import Path

from sphinx.cmd.build import build_main

ROOT = Path(__file__).parents[1]
OUT = ROOT / "build" / "site"
ARCHIVE = ROOT / "agentsvc_nb" / "docs.tar.xz"
START = """\
<!doctype html><meta charset="utf-8"><title>agentsvc-nb</title>
<meta http-equiv="refresh" content="0; url=docs/index.html">
<a href="docs/index.html">agentsvc-nb</a>
"""
"""Leads from the top to the first page, which lies in docs/ as its source does."""
IN_EACH_PAGE = ("sphinx", "furo", "sphinx-basic-ng", "myst-nb", "pygments")
"""Whose scripts and styles the site has; their licences go along (NOTICE)."""


def build(out: Path = OUT, archive: Path = ARCHIVE) -> int:
    """Returns the exit code."""
    if (out / "objects.inv").is_file():  # what is gone from the sources goes, too
        shutil.rmtree(out)
    sys.path.insert(0, str(ROOT))  # autodoc imports the package
    places = ["-c", str(ROOT / "docs"), "-d", str(out.with_name("doctrees")), str(ROOT), str(out)]
    failed = build_main(["-q", "-E", "-n", "-W", "--keep-going", *places])
    if not failed:
        (out / "index.html").write_text(START)
        (out / "LICENSES.txt").write_text("\n\n".join(map(licence, IN_EACH_PAGE)), "utf-8")
        pack(out, archive)
    return failed


def licence(name: str) -> str:
    """What the installed distribution says of its licence, with its copyright."""
    found = distribution(name)
    texts = [file.read_text("utf-8") for file in found.files or () if file.name.startswith("LICENSE")]
    return "\n\n".join([f"== {name} {found.version}", *texts])


def pack(out: Path, archive: Path) -> None:
    """All pages in one stream: what they have in common is stored once, which a wheel's compression can't do."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(archive, "w:xz") as packed:
        packed.add(out, "site", filter=plain)


if __name__ == "__main__":
    sys.exit(build(*map(Path, sys.argv[1:])))
