/** What the kernel can have done to the cells of its notebook. Nothing here runs a cell. */

/** The functions by their names; each returns what the kernel is told. */
export function actions(notebook) {
  function find(id) {
    return Array.from(notebook.cells).find((cell) => cell.type === "code" && cell.id === id);
  }

  return {
    cells: () => ({
      cells: Array.from(notebook.cells)
        .filter((cell) => cell.type === "code")
        .map((cell) => ({ id: cell.id, count: cell.executionCount, source: cell.sharedModel.getSource() })),
    }),

    edit: ({ cell, was, source }) => {
      const found = find(cell);
      if (!found) {
        return { outcome: "gone" };
      }
      if (notebook.readOnly || found.getMetadata("editable") === false) {
        return { outcome: "locked" };
      }
      if (found.sharedModel.getSource() !== was) {
        return { outcome: "conflict" };
      }
      write(found.sharedModel, was, source);
      return { outcome: "done" };
    },

    insert: ({ after, source }) => {
      if (notebook.readOnly) {
        return { outcome: "locked" };
      }
      const at = Array.from(notebook.cells).findIndex((cell) => cell.id === after);
      if (at < 0) {
        return { outcome: "gone" };
      }
      notebook.sharedModel.insertCell(at + 1, { cell_type: "code", source, metadata: {} });
      return { outcome: "done" };
    },
  };
}

/** Changes a cell where it differs, as one step of its undo: neither what was typed before nor after is part of it. */
function write(cell, was, source) {
  let start = 0;
  while (start < Math.min(was.length, source.length) && was[start] === source[start]) {
    start += 1;
  }
  let end = 0;
  while (end < Math.min(was.length, source.length) - start && was.at(-1 - end) === source.at(-1 - end)) {
    end += 1;
  }
  cell.undoManager?.stopCapturing();
  cell.updateSource(start, was.length - end, source.slice(start, source.length - end));
  cell.undoManager?.stopCapturing();
}
