/** Cells whose body is a question, not Python: they get the colours, brackets and comments of Markdown. */
const ASKS = /^\s*%%ask\b/;
const TEXT = "text/x-markdown";

/** Keeps the cells of a notebook in the language of what they hold, also while one types. */
export function asText(notebook, registry) {
  const languages = new WeakMap(); // of the cells that were changed, the notebook's own

  function asks(cell) {
    return ASKS.test(cell.sharedModel.getSource().slice(0, 80));
  }

  async function look(cell) {
    const before = cell.mimeType;
    if (!asks(cell) && before === TEXT && languages.has(cell)) {
      cell.mimeType = languages.get(cell);
    } else if (asks(cell) && before !== TEXT) {
      // An editor that still loads the colours of a language would put them over these.
      await Promise.allSettled([before, TEXT].map((each) => registry.getLanguage(each)));
      await new Promise((resolve) => setTimeout(resolve));
      if (asks(cell) && cell.mimeType === before) {
        languages.set(cell, before);
        cell.mimeType = TEXT;
      }
    }
  }

  const watched = new WeakSet();
  function watch() {
    for (const cell of notebook.cells) {
      if (cell.type === "code" && !watched.has(cell)) {
        watched.add(cell);
        cell.sharedModel.changed.connect((_, change) => change.sourceChange && look(cell));
        cell.mimeTypeChanged.connect(() => look(cell)); // a kernel has told its language
        look(cell);
      }
    }
  }
  notebook.cells.changed.connect(watch);
  watch();
}
