// Files that are sent to the kernel, with their progress. Put behind common.js.

/** The page sends the next slice when the kernel has the one before, and the next file when the one before is in the chat. */
class Uploads {
  constructor(model, leave) {
    this.model = model;
    this.leave = leave;
    this.limit = Infinity;
    this.chosen = element("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files to send" });
    this.bars = element("div", { className: "asvc-uploads" });
    this.box = element("div", {}, this.chosen, this.bars);
    this.last = Promise.resolve();
    this.chosen.addEventListener("change", () => {
      this.take([...this.chosen.files]);
      this.chosen.value = "";
    });
    this.reset();
  }

  reset() {
    for (const { heard } of this.waiting?.values() ?? []) heard(false);
    this.waiting = new Map();
    this.bars.replaceChildren();
  }

  choose() {
    this.chosen.click();
  }

  take(files) {
    for (const file of files) this.last = this.last.then(() => this.send(file));
  }

  async send(file) {
    if (file.size > this.limit) return this.model.send({ do: "toolarge", name: file.name });
    try {
      await sendFile(this.model, file, (id, bytes) => {
        const last = bytes >= file.size;
        return new Promise((heard) => this.waiting.set(id, { bytes, last, heard }));
      });
    } catch {
      this.model.send({ do: "unreadable", name: file.name }); // a folder, or it has changed since
    }
  }

  part(id, value) {
    const waiting = this.waiting.get(id);
    if (waiting && (!value || (value.at >= waiting.bytes && !waiting.last))) {
      this.waiting.delete(id);
      waiting.heard(!!value);
    }
    const row = [...this.bars.children].find((each) => each.dataset.id === id);
    if (!value) row?.remove();
    else this.draw(row ?? this.begin(id, value.name), value);
  }

  draw(row, { name, at, size }) {
    const share = size ? Math.floor((100 * at) / size) : 100;
    const bar = row.querySelector("[role=progressbar]");
    bar.setAttribute("aria-valuenow", share);
    bar.firstElementChild.style.width = `${share}%`;
    row.querySelector("bdi").textContent = share < 100 ? `${name}, ${share} %` : `${name}, adding to the chat …`;
  }

  begin(id, name) {
    const bar = element("div", { className: "asvc-bar", role: "progressbar", "aria-label": `Upload of ${name}` }, element("div"));
    const stop = button("Cancel", `Do not send ${name}`, () => {
      this.model.send({ do: "cancel", id });
      this.leave();
    });
    const row = element("div", { className: "asvc-row" }, element("bdi"), bar, stop);
    row.dataset.id = id;
    this.bars.append(row);
    return row;
  }
}
