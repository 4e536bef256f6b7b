// Files that are sent to the kernel, with their progress. Put behind common.js.

/** Files on their way: the page sends the next slice when the kernel has the one before, and the next file when the one
 * before is in the chat, so that none piles up. */
class Uploads {
  constructor(model, say, leave) {
    this.model = model;
    this.say = say;
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
    this.shown = new Map();
    this.bars.replaceChildren();
  }

  choose() {
    this.chosen.click();
  }

  take(files) {
    for (const file of files) this.last = this.last.then(() => this.send(file));
  }

  async send(file) {
    if (file.size > this.limit) return this.say({ do: "toolarge", name: file.name });
    try {
      await sendFile(this.model, file, (id, bytes) => {
        const last = bytes >= file.size;
        return new Promise((heard) => this.waiting.set(id, { bytes, last, heard }));
      });
    } catch {
      this.say({ do: "unreadable", name: file.name }); // a folder, or it has changed since
    }
  }

  part(id, value) {
    const waiting = this.waiting.get(id);
    if (waiting && (!value || (value.at >= waiting.bytes && !waiting.last))) {
      this.waiting.delete(id);
      waiting.heard(!!value);
    }
    if (value) this.bar(id, value);
    else this.shown.get(id)?.row.remove();
    if (!value) this.shown.delete(id);
  }

  bar(id, { name, at, size }) {
    const { said, bar } = this.shown.get(id) ?? this.begun(id, name);
    const whole = at >= size;
    if (whole) bar.removeAttribute("value");
    else bar.value = at / size;
    said.textContent = whole ? `${name}: into the chat …` : `${name}: ${Math.floor((100 * at) / size)} %`;
  }

  begun(id, name) {
    const bar = element("progress", { max: 1, "aria-label": `Upload of ${name}` });
    const said = element("bdi");
    const stop = button("Cancel", `Do not send ${name}`, () => {
      this.say({ do: "cancel", id });
      this.leave();
    });
    const made = { said, bar, row: element("div", {}, bar, said, stop) };
    this.shown.set(id, made);
    this.bars.append(made.row);
    return made;
  }
}
