// The file browser: a list with columns, what a file is beside it, and uploads. Put behind common.js, preview.js and uploads.js.
// Parts: folder, rows, sort, narrow, find, pane, said, tocopy, limit, upload/ID.

const COLUMNS = [["name", "Name"], ["kind", "Kind"], ["size", "Size"], ["when", "Changed"]];
const STEP = 10; // rows that Page Up and Page Down go
const TYPING_MS = 800; // after such a pause, letters begin another name

function render({ model, el }) {
  const files = new FilesView(model, el);
  const undress = dress(el, model.get("sheet"));
  const release = keepKeys(files.root, (event, focused) => files.uses(event, focused));
  const leave = follow(model, files.root, () => files.reset(), (parts) => files.show(parts));
  return () => {
    leave();
    release();
    undress();
  };
}

class FilesView {
  constructor(model, el) {
    this.model = model;
    const say = (message) => model.send(message);
    this.top = new Top(say);
    this.list = new List(say, () => this.top.focus());
    this.uploads = new Uploads(model, say, () => this.list.focus());
    this.pane = new Pane(say, () => this.list.focus());
    this.said = element("div", { className: "asvc-muted", role: "status" });
    this.copied = element("div");
    this.halves = element("div", { className: "asvc-halves" }, this.list.box, this.pane.box);
    this.root = element("div", { className: "asvc asvc-card asvc-files" });
    this.root.append(this.top.box, this.halves, this.acting(say), this.uploads.box, this.copied, this.said);
    this.root.addEventListener("keydown", (event) => this.pressed(event));
    takeDrops(this.root, (files) => this.uploads.take(files));
    takePasted(this.root, (files) => this.uploads.take(files));
    el.append(this.root);
  }

  acting(say) {
    const chosen = (what) => () => say({ do: what, ...this.list.place() });
    const open = button("Open", "Look into the folder, or at the beginning of the file (Enter)", chosen("open"), "asvc-primary");
    const get = button("Get", "Download it into the notebook's folder, as %files get does", chosen("get"));
    const attach = button("Attach", "Copy the text that names it in a question", () => {
      this.copying = true;
      chosen("attach")();
    });
    const upload = button("Upload", "Send files of your machine; they can be dropped or pasted, too", () => this.uploads.choose());
    const anew = button("Refresh", "List the files anew", () => say({ do: "refresh" }));
    return element("div", { className: "asvc-row" }, open, get, attach, upload, anew);
  }

  /** Whether a key that is pressed there is ours, though it is a shortcut of JupyterLab's. */
  uses({ key, ctrlKey, metaKey, altKey }, focused) {
    if ((ctrlKey || metaKey) && !altKey) return key.toLowerCase() === "v";
    return !altKey && this.list.rows.contains(focused) && (key.length === 1 || key === "Backspace");
  }

  pressed(event) {
    if (event.key !== "Escape" || !this.pane.shown) return;
    event.stopPropagation();
    this.pane.close();
  }

  reset() {
    this.uploads.reset();
    for (const kind of ["rows", "pane", "tocopy"]) this.part(kind, undefined, null);
  }

  show(parts) {
    for (const [name, value] of Object.entries(parts)) {
      const [kind, key] = name.split(/\/(.*)/s);
      this.part(kind, key, value);
    }
  }

  part(kind, key, value) {
    if (kind === "rows") this.list.show(value);
    else if (kind === "sort") this.list.sort(...value);
    else if (kind === "pane") this.pane.show(value);
    else if (kind === "upload") this.uploads.part(key, value);
    else if (kind === "limit") this.uploads.limit = value;
    else if (kind === "tocopy") this.toCopy(value);
    else if (kind === "said") {
      this.said.className = value?.wrong ? "asvc-wrong" : "asvc-muted";
      this.said.replaceChildren(markup(value?.html ?? ""));
    } else this.top.part(kind, value);
  }

  toCopy(text) {
    this.copied.replaceChildren();
    if (!text) return;
    const shown = element("input", { type: "text", readOnly: true, value: text });
    this.copied.append(element("label", { className: "asvc-field" }, "To copy", shown));
    if (this.copying) navigator.clipboard?.writeText(text).catch(() => {}); // where it may not, it stands there
    this.copying = false;
  }
}

/** Where we are, and the two fields that look for files. */
class Top {
  constructor(say) {
    this.say = say;
    this.path = element("ol", { className: "asvc-path" });
    this.narrow = element("input", { type: "search", placeholder: "a part of the path" });
    this.find = element("input", { type: "search", placeholder: 'words "a phrase" -not' });
    const where = element("nav", { "aria-label": "Folders" }, this.path);
    const names = element("label", { className: "asvc-field" }, "Names", this.narrow);
    const contents = element("label", { className: "asvc-field" }, "Contents", this.find);
    const search = button("Search", "Search the contents of the files, as %search does", () => this.searched());
    this.box = element("div", {}, where, element("div", { className: "asvc-row" }, names, contents, search));
    this.narrow.addEventListener("input", () => this.narrowed());
    this.find.addEventListener("keydown", (event) => event.key === "Enter" && !event.isComposing && this.searched());
    this.find.addEventListener("input", () => this.find.value || this.searched());
    this.missed = new Map(); // what another page set while this one's field had the focus
    for (const kind of ["narrow", "find"]) {
      this[kind].addEventListener("input", () => this.missed.delete(kind));
      this[kind].addEventListener("blur", () => this.missed.has(kind) && this.set(kind, this.missed.get(kind)));
    }
  }

  focus() {
    this.path.lastElementChild.firstElementChild.focus();
  }

  narrowed() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.say({ do: "narrow", words: this.narrow.value }), 120);
  }

  searched() {
    this.say({ do: "find", words: this.find.value });
  }

  part(kind, value) {
    if (kind === "folder") this.show(value ?? []);
    else if (kind === "narrow" || kind === "find") {
      if (focusedIn(this.box) === this[kind]) this.missed.set(kind, value); // not under the fingers of who types
      else this.set(kind, value);
    }
  }

  set(kind, value) {
    this.missed.delete(kind);
    this[kind].value = value ?? "";
  }

  show(names) {
    const focused = focusedIn(this.path);
    const steps = ["Files", ...names].map((name, depth) => {
      const step = button(name, `Go to ${name}`, () => this.say({ do: "go", depth }));
      if (depth === names.length) step.setAttribute("aria-current", "true");
      return element("li", {}, step);
    });
    this.path.replaceChildren(...steps);
    if (focused) this.focus();
  }
}

/** The rows of a folder, of which the page has some at a time. One of them is chosen, and is the one that Tab reaches. */
class List {
  constructor(say, elsewhere) {
    this.say = say;
    this.elsewhere = elsewhere;
    this.shown = [];
    this.from = this.total = this.at = 0;
    this.typed = "";
    this.heads = new Map(COLUMNS.map(([key, name]) => [key, this.head(key, name)]));
    const head = element("div", { role: "row", className: "asvc-gridhead", "aria-rowindex": "1" }, ...this.heads.values());
    this.rows = element("div", { className: "asvc-rows", role: "rowgroup" });
    this.grid = element("div", { className: "asvc-grid", role: "grid" }, element("div", { role: "rowgroup" }, head), this.rows);
    this.empty = element("div", { className: "asvc-empty" });
    this.before = button("Previous", "The rows before these", () => this.go(this.from - 1));
    this.after = button("Next", "The rows after these", () => this.go(this.from + this.shown.length));
    this.paging = element("div", { className: "asvc-row" }, this.before, this.after);
    this.box = element("div", { className: "asvc-list" }, this.grid, this.empty, this.paging);
    this.rows.addEventListener("click", (event) => this.clicked(event, false));
    this.rows.addEventListener("dblclick", (event) => this.clicked(event, true));
    this.rows.addEventListener("keydown", (event) => this.pressed(event));
  }

  head(key, name) {
    const made = button(name, `Sort by ${name.toLowerCase()}`, () => this.say({ do: "sort", by: key }));
    return element("div", { role: "columnheader", className: `asvc-${key}` }, made);
  }

  sort(by, descending) {
    for (const [key, name] of COLUMNS) {
      const head = this.heads.get(key);
      head.setAttribute("aria-sort", key !== by ? "none" : descending ? "descending" : "ascending");
      head.firstChild.textContent = key !== by ? name : `${name} ${descending ? "↓" : "↑"}`;
    }
  }

  /** The chosen row, as the kernel is told of it. */
  place() {
    return { list: this.list, at: this.shown.length ? this.at : -1 };
  }

  show(value) {
    const { list = 0, from = 0, total = 0, at = null, rows = [], label = "Files", empty = "" } = value ?? {};
    const focused = focusedIn(this.rows);
    const before = this.shown[this.at - this.from]?.[5];
    Object.assign(this, { list, from, total, shown: rows });
    const same = rows.findIndex((row) => row[5] === before);
    this.at = at ?? from + Math.max(0, same);
    this.grid.setAttribute("aria-label", label);
    this.grid.setAttribute("aria-rowcount", String(total + 1));
    this.rows.replaceChildren(...rows.map((row, number) => this.row(row, from + number)));
    this.grid.hidden = !rows.length;
    this.empty.hidden = !!rows.length;
    this.empty.textContent = empty;
    this.paging.hidden = total <= rows.length;
    offered(this.before, from > 0);
    offered(this.after, from + rows.length < total);
    this.choose(this.at, !!focused);
  }

  row([kind, name, what, size, when, whole], at) {
    const cell = (look, ...parts) => element("div", { role: "gridcell", className: `asvc-${look}` }, ...parts);
    const called = cell("name", icon(kind === "media" ? "film" : kind), element("bdi", { className: "asvc-cut" }, ...inTheMiddle(name)));
    called.setAttribute("aria-label", name);
    const cells = [called, cell("kind", what), cell("size", size), cell("when", when)];
    const look = { role: "row", "aria-rowindex": String(at + 2), "aria-selected": "false", tabIndex: -1, title: whole };
    return element("div", look, ...cells);
  }

  focus() {
    const row = this.rows.children[this.at - this.from];
    if (row) row.focus();
    else this.elsewhere();
  }

  choose(at, focus) {
    const old = this.rows.children[this.at - this.from];
    old?.setAttribute("aria-selected", "false");
    if (old) old.tabIndex = -1;
    this.at = at;
    const row = this.rows.children[at - this.from];
    if (row) {
      row.setAttribute("aria-selected", "true");
      row.tabIndex = 0;
    }
    if (row) this.scroll(row);
    if (focus) this.focus();
  }

  /** Scroll the rows alone, not the notebook. */
  scroll({ offsetTop, offsetHeight }) {
    const { scrollTop, clientHeight } = this.rows;
    this.rows.scrollTop = Math.min(offsetTop, Math.max(scrollTop, offsetTop + offsetHeight - clientHeight));
  }

  /** Choose a row, and have the kernel send it if it is not here. */
  go(at) {
    const to = Math.min(this.total - 1, Math.max(0, at));
    if (to >= this.from && to < this.from + this.shown.length) this.choose(to, true);
    else if (to >= 0) this.say({ do: "turn", list: this.list, at: to });
  }

  clicked(event, twice) {
    const number = [...this.rows.children].indexOf(event.target.closest("[role=row]"));
    if (number < 0) return;
    this.choose(this.from + number, true);
    if (twice) this.say({ do: "open", ...this.place() });
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const { at, total } = this;
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + STEP, PageUp: at - STEP, Home: 0, End: total - 1 };
    if (event.key !== "Shift" && event.key.length > 1) this.typed = ""; // who goes elsewhere begins another name
    if (event.key in moves) this.go(moves[event.key]);
    else if (event.key === "Enter") this.say({ do: "open", ...this.place() });
    else if (event.key === "Backspace") this.say({ do: "up" });
    else if (event.key.length === 1 && (event.key !== " " || this.typed)) this.type(event.key);
    else return;
    event.preventDefault();
  }

  /** Go to the next name that begins with what is typed. */
  type(letter) {
    clearTimeout(this.pause);
    this.pause = setTimeout(() => (this.typed = ""), TYPING_MS);
    this.typed += letter;
    const words = this.typed.toLocaleLowerCase();
    const start = this.at - this.from + (this.typed.length === 1 ? 1 : 0);
    const order = [...this.shown.keys()].map((_, number) => (start + number) % this.shown.length);
    const found = order.find((number) => this.shown[number][1].toLocaleLowerCase().startsWith(words));
    if (this.total > this.shown.length) this.say({ do: "type", list: this.list, at: this.at, words: this.typed });
    else if (found !== undefined) this.choose(this.from + found, true);
  }
}

export default { render };
