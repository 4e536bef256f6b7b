"""Write what language models read: a Markdown copy next to each page of the site, and llms.txt (https://llmstxt.org).

The sources are Markdown already. Three things in them are rendered: tables of contents, notebooks and the Python
reference, which comes from docstrings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.text import TextBuilder
from sphinx.writers.text import TextTranslator

TOCTREE = re.compile(r"^```\{toctree\}\n.*?^```\n", re.MULTILINE | re.DOTALL)
IMAGE = re.compile(r"^```\{image\} (\S+)\n((?::.*\n)*)```\n", re.MULTILINE)
COLOURS = re.compile(r"\x1b\[[\d;]*m")
LINK = re.compile(r"(?<=\]\()[^)#\s]+")


def setup(app: Sphinx) -> None:
    app.config["text_sectionchars"] = "=-"  # these underline headings in Markdown, too
    app.connect("doctree-read", note_first_paragraph)
    app.connect("html-page-context", link_copies)
    app.connect("build-finished", write_copies)


def note_first_paragraph(app: Sphinx, tree: nodes.document) -> None:
    paragraph = next(tree.findall(nodes.paragraph))
    app.env.metadata[app.env.docname]["summary"] = " ".join(paragraph.astext().split())


def link_copies(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Link the copy of a page and llms.txt in its head and its footer."""
    if doctree is not None:
        copy, index = context["pathto"](f"{page}.md", True), context["pathto"]("llms.txt", True)
        context["metatags"] += f'<link rel="alternate" type="text/markdown" href="{copy}">'
        context["theme_footer_icons"] = [
            {"name": "This page as Markdown", "url": copy, "html": "Markdown", "class": ""},
            {"name": "All pages for language models", "url": index, "html": "llms.txt", "class": ""},
        ]


def write_copies(app: Sphinx, error: Exception | None) -> None:
    if error is None:
        for page in app.env.found_docs:
            (app.outdir / f"{page}.md").write_text(markdown(app, page), "utf-8")
        (app.outdir / "llms.txt").write_text("\n".join(index_lines(app)), "utf-8")


def markdown(app: Sphinx, page: str) -> str:
    source = Path(app.env.doc2path(page))
    text = source.read_text("utf-8")
    if "```{eval-rst}" in text:
        return plain_text(app, page)
    if source.suffix == ".ipynb":
        text = "\n\n".join(notebook_parts(text)) + "\n"
    if "```{toctree}" in text:
        tables = app.env.get_doctree(page).findall(addnodes.toctree)
        text = TOCTREE.sub(lambda _: table_of_contents(app, page, next(tables)), text)
    text = IMAGE.sub(picture, text)
    return LINK.sub(lambda link: place_on_site(app, page, link[0]), text)


def plain_text(app: Sphinx, page: str) -> str:
    builder = TextBuilder(app, app.env)
    builder.init()
    tree = app.env.get_and_resolve_doctree(page, builder, tags=app.tags)
    writer = TextTranslator(tree, builder)
    tree.walkabout(writer)
    return writer.body.replace("[source]", "")


def notebook_parts(text: str) -> Iterator[str]:
    """Yield the cells of a notebook with their outputs as plain text."""
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "markdown":
            yield "".join(cell["source"])
            continue
        yield f"```ipython\n{''.join(cell['source'])}\n```"
        for output in cell["outputs"]:
            shown = output.get("text") or output.get("data", {}).get("text/plain")
            plain = COLOURS.sub("", "".join(shown) if shown else "\n".join(output.get("traceback", [])))
            yield f"~~~text\n{plain.rstrip()}\n~~~"


def picture(directive: re.Match[str]) -> str:
    """Return an image directive as Markdown. Leave out pictures for dark colours, which repeat the light ones."""
    source, options = directive.groups()
    alt = re.search(r"^:alt: (.*)$", options, re.MULTILINE)
    return "" if "only-dark" in options else f"![{alt[1] if alt else ''}]({source})\n"


def table_of_contents(app: Sphinx, page: str, table: addnodes.toctree) -> str:
    links = (
        f"- [{app.env.titles[name].astext()}]({relpath(f'{name}.md', dirname(page))})" for _, name in table["entries"]
    )
    return "" if table["hidden"] else "\n".join([f"**{table['caption'] or 'Pages'}**", "", *links, ""])


def place_on_site(app: Sphinx, page: str, target: str) -> str:
    """Return where a link of a source leads on the site: to a copy, a picture, a download or another site."""
    path = normpath(join(dirname(page), target))
    if path.removesuffix(".ipynb") in app.env.found_docs:
        return target.removesuffix(".ipynb") + ".md"
    if path in app.env.images:
        return relpath(f"_images/{app.env.images[path][1]}", dirname(page))
    if Path(path) in app.env.dlfiles:
        return relpath(f"_downloads/{app.env.dlfiles[Path(path)][1]}", dirname(page))
    return target


def index_lines(app: Sphinx) -> Iterator[str]:
    """Yield llms.txt: title and summary, then for each table of contents of the first page its pages."""
    yield f"# {app.config.project}\n\n> {app.env.metadata[app.config.root_doc]['summary']}"
    for table in app.env.get_doctree(app.config.root_doc).findall(addnodes.toctree):
        yield f"\n## {table['caption']}\n"
        for page in (below for _, name in table["entries"] for below in with_children(app, name)):
            summary = re.split(r"(?<=[.!?:])\s", app.env.metadata[page]["summary"])[0]
            yield f"- [{app.env.titles[page].astext()}]({page}.md): {summary}"
    yield ""


def with_children(app: Sphinx, page: str) -> Iterator[str]:
    yield page
    for child in app.env.toctree_includes.get(page, []):
        yield from with_children(app, child)
