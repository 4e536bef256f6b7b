/** Cells whose body is not Python get the colours, brackets and comments of what they hold. */
const LANGUAGES = [
  [/^\s*%%ask\b/, "text/x-markdown"],
  [/^\s*%ask\b.*\s*$/, "text/x-markdown"], // as the only line of the cell
  [/^\s*%%(?:job|tool)\b/, "text/x-properties"],
];

/** Keeps the cells of a notebook in the language of what they hold, also while one types. */
export function asText(notebook, registry) {
  const ours = new WeakMap(); // by cell: the language that it got from us, and the notebook's own

  function wanted(cell) {
    const source = cell.sharedModel.getSource();
    return LANGUAGES.find(([begins]) => begins.test(source))?.[1] ?? own(cell);
  }

  function own(cell) {
    const known = ours.get(cell);
    return known?.given === cell.mimeType ? known.own : cell.mimeType;
  }

  async function look(cell) {
    const before = cell.mimeType;
    const given = wanted(cell);
    if (given === before) {
      return;
    }
    // An editor that still loads the colours of a language would put them over these.
    await Promise.allSettled([before, given].map((each) => registry.getLanguage(each)));
    await new Promise((resolve) => setTimeout(resolve));
    if (cell.mimeType === before && wanted(cell) === given) {
      ours.set(cell, { given, own: own(cell) });
      cell.mimeType = given;
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
