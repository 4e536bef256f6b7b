"""`agentsvc docs`: open the documentation of this version, without network access."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from agentsvc_nb.cli.arguments import Parser, Subparsers

PACKED: Final = Path(__file__).parents[1] / "docs.tar.xz"
"""The packed site. `python -m docs.site` creates it in a clone, and wheels that are built in that clone include it."""


class NoDocs(Exception):
    """This installation contains no documentation site; the message says where to find the documentation."""


def add_parsers(commands: Subparsers, data: Parser) -> None:
    docs = commands.add_parser("docs", help="open the documentation in a browser, without network")
    docs.add_argument("--no-browser", action="store_true", help="print the address instead")
    docs.set_defaults(run=_docs)


def _docs(args: argparse.Namespace) -> int:
    """Print the address of the first page, and open it. Raises `NoDocs`, `OSError`."""
    import webbrowser

    address = (_site() / "index.html").as_uri()
    print(address, flush=True)
    if not args.no_browser:
        webbrowser.open(address)
    return 0


def _site() -> Path:
    if not PACKED.is_file():
        raise NoDocs(
            "This installation does not contain the documentation. In a clone, `python -m docs.site` builds it."
        )
    from platformdirs import user_cache_path

    return unpacked(PACKED, user_cache_path("agentsvc-nb"))


def unpacked(packed: Path, cache: Path) -> Path:
    """Unpack the site into a folder named by its content, replace other versions, and return the folder."""
    import hashlib
    import shutil
    import tarfile
    import tempfile

    folder = cache / f"docs-{hashlib.sha256(packed.read_bytes()).hexdigest()[:16]}"
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    for other in cache.glob("docs-*"):
        shutil.rmtree(other, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="unpacking-") as scratch, tarfile.open(packed) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.3 lacks it
        archive.extractall(scratch)
        (Path(scratch) / "site").rename(folder)
    return folder
