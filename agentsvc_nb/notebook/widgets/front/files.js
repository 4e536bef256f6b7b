// The files of a chat: a list and a grid of the same files, a preview next to them, and uploads. Put behind preview.js and
// uploads.js. The page has all files, so that sorting and filtering by name need no kernel.
// Parts: start, files, found, thumb/KEY, open, said, limit, upload/ID.

const COLUMNS = [["name", "Name"], ["by", "By"], ["size", "Size"], ["changed", "Changed"]];
const SHOWN = 200; // files in the page at first, and more with each press of the button
const FIND_MS = 400; // after such a pause, the contents are searched, too
const MINUTE_MS = 60_000;

function render({ model, el }) {
  const files = new FilesView(model, el);
  const undress = dress(el, model);
  const release = keepKeys(files.root, (event, focused) => files.uses(event, focused));
  const leave = follow(model, files.root, () => files.reset(), (parts) => files.show(parts));
  const clock = setInterval(() => files.tick(), MINUTE_MS);
  return () => {
    clearInterval(clock);
    leave();
    release();
    undress();
  };
}

class FilesView {
  constructor(model, el) {
    const say = (message) => model.send(message);
    this.list = new List(say, (key) => this.open(key));
    this.pane = new Pane(say, () => this.closed(), (by) => this.list.step(by));
    this.uploads = new Uploads(model, () => this.search.focus());
    this.search = element("input", { type: "search", "aria-label": "Search files by name and content" });
    this.search.addEventListener("input", () => this.searched(say));
    this.search.addEventListener("keydown", (event) => event.key === "ArrowDown" && this.list.focus());
    this.asGrid = iconButton("grid", "Show as a grid", () => this.turn(true));
    this.asList = iconButton("list", "Show as a list", () => this.turn(false));
    const anew = iconButton("again", "Refresh the list", () => say({ do: "refresh" }));
    const upload = button("", "Upload files from your computer. You can also drop or paste them.", () => this.uploads.choose(), "asvc-upload");
    upload.setAttribute("aria-label", "Upload");
    upload.append(icon("upload"), element("span", { textContent: "Upload" }));
    const head = element("div", { className: "asvc-head" }, icon("search"), this.search, this.asGrid, this.asList, anew, upload);
    const body = element("div", { className: "asvc-body" }, this.list.box, this.pane.box);
    const drop = element("div", { className: "asvc-drop asvc-quiet", textContent: "Drop files here" });
    this.said = element("div", { className: "asvc-quiet", role: "status" });
    this.root = element("div", { className: "asvc asvc-panel asvc-files" });
    this.root.append(head, body, this.uploads.box, drop, this.said);
    this.root.addEventListener("keydown", (event) => this.pressed(event));
    takeDrops(this.root, (files) => this.uploads.take(files));
    takePasted(this.root, (files) => this.uploads.take(files));
    this.reset();
    el.append(this.root);
  }

  /** Whether a key that is pressed there is ours, though it is a shortcut of JupyterLab's. */
  uses({ key, ctrlKey, metaKey, altKey }, focused) {
    if ((ctrlKey || metaKey) && !altKey) return key.toLowerCase() === "v";
    return !altKey && this.list.box.contains(focused) && key.length === 1;
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape" && this.pane.shown && !this.pane.figure.isEnlarged()) {
      event.stopPropagation();
      this.pane.close();
    } else if (event.key.length === 1 && event.key !== " " && this.list.box.contains(event.target)) {
      this.search.focus(); // the letter is typed there
    }
  }

  reset() {
    this.uploads.reset();
    this.list.reset();
    this.pane.show(null);
    this.start({ grid: false });
    this.words = "";
  }

  show(parts) {
    for (const [name, value] of Object.entries(parts)) {
      const [kind, key] = name.split(/\/(.*)/s);
      if (kind === "start") this.start(value);
      else if (kind === "files") this.files(value ?? []);
      else if (kind === "thumb") this.list.thumb(key, value);
      else if (kind === "found") this.list.find(value);
      else if (kind === "open") this.pane.show(value);
      else if (kind === "upload") this.uploads.part(key, value);
      else if (kind === "limit") this.uploads.limit = value;
      else if (kind === "said") {
        this.said.className = value?.wrong ? "asvc-wrong" : "asvc-quiet";
        this.said.replaceChildren(markup(value?.html ?? ""));
      }
    }
    this.opened();
  }

  start({ grid }) {
    this.noun = grid ? "picture" : "file";
    this.turn(grid);
  }

  files(rows) {
    const many = `${rows.length.toLocaleString("en")} ${this.noun}${rows.length === 1 ? "" : "s"}`;
    this.search.placeholder = rows.length ? `Search ${many} by name and content` : "Search by name and content";
    this.list.files(rows);
  }

  turn(grid) {
    const focused = focusedIn(this.root);
    this.asGrid.hidden = grid;
    this.asList.hidden = !grid;
    if (focused === this.asGrid || focused === this.asList) (grid ? this.asList : this.asGrid).focus();
    this.list.turn(grid);
  }

  open(key) {
    this.pane.expect(this.list.byKey.get(key), this.list.thumbs.get(key));
    this.opened();
  }

  closed() {
    this.opened();
    this.list.focus();
  }

  opened() {
    const focused = focusedIn(this.list.box);
    this.root.classList.toggle("asvc-opened", this.pane.shown);
    this.list.mark(this.pane.key);
    if (focused && !this.list.box.checkVisibility()) this.pane.box.focus(); // where the preview takes the list's place
  }

  searched(say) {
    clearTimeout(this.pause);
    const words = this.search.value.trim();
    this.list.filter(words);
    this.pause = setTimeout(() => words !== this.words && say({ do: "find", words: (this.words = words) }), FIND_MS);
  }

  tick() {
    for (const each of this.root.querySelectorAll("time")) each.textContent = ago(each.dateTime);
  }
}

/** The files that fit the words, as a table or as a grid. One of them is the one that Tab reaches, and the arrow keys go on
 * from it. */
class List {
  constructor(say, open) {
    this.say = say;
    this.open = open;
    this.sorted = ["changed", -1];
    this.heads = new Map(COLUMNS.map(([column, name]) => [column, this.head(column, name)]));
    const head = element("thead", {}, element("tr", {}, ...this.heads.values()));
    this.body = element("tbody");
    this.table = element("table", { "aria-label": "Files" }, head, this.body);
    this.grid = element("ul", { className: "asvc-thumbs", "aria-label": "Files" });
    this.empty = element("p", { className: "asvc-empty asvc-quiet" });
    this.more = button("", "Show more files", () => this.draw((this.room += SHOWN)));
    this.box = element("div", { className: "asvc-list" }, this.table, this.grid, this.empty, this.more);
    this.box.addEventListener("keydown", (event) => this.pressed(event));
    this.seen = new IntersectionObserver((entries) => this.look(entries.filter((entry) => entry.isIntersecting)));
    this.reset();
  }

  reset() {
    Object.assign(this, { rows: [], byKey: new Map(), found: null, words: "", thumbs: new Map(), room: SHOWN, current: "" });
    this.known = false;
    this.asked = new Set();
  }

  head(column, name) {
    const press = () => {
      const first = column === "size" || column === "changed" ? -1 : 1; // the largest and the newest first
      this.sorted = [column, this.sorted[0] === column ? -this.sorted[1] : first];
      this.draw();
    };
    const look = column === "size" ? "asvc-size asvc-num" : `asvc-${column}`;
    return element("th", { scope: "col", className: look }, button(name, `Sort by ${name.toLowerCase()}`, press));
  }

  files(rows) {
    this.known = true;
    const names = ["key", "name", "type", "size", "changed", "version", "by", "note"];
    this.rows = rows.map((row) => Object.fromEntries(row.map((value, at) => [names[at], value])));
    this.byKey = new Map(this.rows.map((row) => [row.key, row]));
    this.draw();
  }

  turn(grid) {
    this.asGrid = grid;
    this.draw();
  }

  filter(words) {
    this.words = words;
    this.room = SHOWN;
    this.draw();
  }

  /** Also show files that have the words in their contents. */
  find(found) {
    this.found = found;
    this.draw();
  }

  fitting() {
    const words = folded(this.words).split(/\s+/);
    const hits = this.found?.words === this.words ? this.found.hits : {};
    const fits = (row) => Object.hasOwn(hits, row.key) || words.every((word) => folded(`${row.key} ${row.name}`).includes(word));
    const rows = this.rows.filter(fits).map((row) => ({ ...row, passage: hits[row.key] ?? [] }));
    const [column, way] = this.sorted;
    const value = (row) => (column === "name" ? folded(row.key) : (row[column] ?? "9999")); // what waits is the newest
    return rows.sort((a, b) => (value(a) < value(b) ? -way : value(a) > value(b) ? way : 0));
  }

  draw() {
    const focused = focusedIn(this.box)?.dataset.key;
    if (focused !== undefined) this.current = focused;
    const rows = this.fitting();
    this.keys = rows.map((row) => row.key);
    if (!this.keys.includes(this.current)) this.current = this.keys[0] ?? "";
    this.table.hidden = this.asGrid || !rows.length;
    this.grid.hidden = !this.asGrid || !rows.length;
    this.seen.disconnect();
    const shown = rows.slice(0, this.room);
    this.body.replaceChildren(...(this.asGrid ? [] : shown.map((row) => this.line(row))));
    this.grid.replaceChildren(...(this.asGrid ? shown.map((row) => this.tile(row)) : []));
    this.empty.hidden = rows.length > 0 || !this.known; // nothing is said of files before the kernel was heard
    this.empty.textContent = this.rows.length
      ? "No file name contains these words. The content of a new file becomes searchable after a minute."
      : "No files yet. Files that the agent writes appear here.";
    this.more.hidden = rows.length <= this.room;
    this.more.textContent = `${(rows.length - this.room).toLocaleString("en")} more`;
    for (const [column, head] of this.heads) {
      const [by, way] = this.sorted;
      head.setAttribute("aria-sort", column !== by ? "none" : way < 0 ? "descending" : "ascending");
    }
    if (focused) this.focus();
  }

  line(row) {
    const [folder, base] = parted(row);
    const name = element("bdi", { className: "asvc-cut" }, ...inTheMiddle(base));
    const where = folder ? [element("span", { className: "asvc-folder", textContent: folder })] : [];
    const version = row.version > 1 ? [element("span", { className: "asvc-quiet", textContent: `v${row.version}` })] : [];
    const press = this.press(row, "asvc-file", this.still(row), ...where, name, ...version);
    const facts = element("div", { className: "asvc-facts asvc-quiet" }, `${row.by} · ${sizeOf(row.size)} · `, timeOf(row));
    const passage = row.passage.map(([text, match]) => (match ? element("mark", { textContent: text }) : text));
    const found = passage.length ? [element("div", { className: "asvc-passage asvc-quiet" }, ...passage)] : [];
    const note = row.note ? [element("div", { className: "asvc-note asvc-quiet", textContent: row.note })] : [];
    const cell = (look, ...parts) => element("td", { className: look }, ...parts);
    const cells = [cell("asvc-by", row.by), cell("asvc-size asvc-num", sizeOf(row.size)), cell("asvc-changed", timeOf(row))];
    const made = element("tr", {}, cell("asvc-name", press, facts, ...found, ...note), ...cells);
    made.addEventListener("click", (event) => event.target.closest("button") || press.click());
    return made;
  }

  tile(row) {
    const name = element("span", { className: "asvc-cut" }, ...inTheMiddle(parted(row)[1]));
    return element("li", {}, this.press(row, "asvc-thumb", this.still(row), name));
  }

  press(row, look, ...parts) {
    const open = () => {
      this.choose(row.key);
      this.open(row.key);
      this.say({ do: "open", key: row.key });
    };
    const made = button("", row.name ? `${row.name} (${row.key})` : row.key, open, look);
    made.dataset.key = row.key;
    made.setAttribute("aria-label", [parted(row)[1], row.version > 1 ? `version ${row.version}` : ""].filter(Boolean).join(", "));
    made.tabIndex = row.key === this.current ? 0 : -1;
    if (row.key === this.opened) made.setAttribute("aria-current", "true");
    made.append(...parts);
    return made;
  }

  /** The thumbnail of a picture once there is one, else the icon of its kind. */
  still(row) {
    const made = element("span", { className: "asvc-still" });
    const [uri, alt] = this.thumbs.get(row.key) ?? [];
    made.append(uri ? thumbnail(row, uri, alt) : icon(iconOf(row.type)));
    made.dataset.still = row.key;
    if (!uri && row.type.startsWith("image/")) this.seen.observe(made);
    return made;
  }

  /** Have the kernel read the pictures that are in sight. */
  look(entries) {
    for (const { target } of entries) this.seen.unobserve(target);
    const keys = entries.map(({ target }) => target.dataset.still).filter((key) => !this.asked.has(key));
    for (const key of keys) this.asked.add(key);
    if (keys.length) this.say({ do: "thumbs", keys });
  }

  thumb(key, value) {
    if (value) this.thumbs.set(key, value);
    else this.thumbs.delete(key);
    if (!value) this.asked.delete(key);
    const still = [...this.box.querySelectorAll(".asvc-still")].find((each) => each.dataset.still === key);
    if (value?.[0]) still?.replaceChildren(thumbnail(this.byKey.get(key), ...value));
  }

  buttons() {
    return [...this.box.querySelectorAll("[data-key]")];
  }

  choose(key) {
    this.current = key;
    for (const each of this.buttons()) each.tabIndex = each.dataset.key === key ? 0 : -1;
  }

  /** Mark the file that is open. */
  mark(key) {
    this.opened = key;
    for (const each of this.buttons()) {
      if (each.dataset.key === key) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
    }
  }

  focus() {
    const buttons = this.buttons();
    (buttons.find((each) => each.dataset.key === this.current) ?? buttons[0])?.focus();
  }

  /** Open the file before or after the one that is open; of a picture the next picture. */
  step(by) {
    const type = this.byKey.get(this.current)?.type.split("/")[0];
    const keys = this.keys.filter((key) => type !== "image" || this.byKey.get(key).type.startsWith("image/"));
    const key = keys[keys.indexOf(this.current) + by];
    if (key === undefined) return;
    this.choose(key);
    this.open(key);
    this.say({ do: "open", key });
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.dataset.key === undefined) return;
    const across = this.asGrid ? getComputedStyle(this.grid).gridTemplateColumns.split(" ").length : 1;
    const moves = { ArrowDown: across, ArrowUp: -across, Home: -Infinity, End: Infinity };
    if (this.asGrid) Object.assign(moves, getComputedStyle(this.grid).direction === "rtl" ? { ArrowLeft: 1, ArrowRight: -1 } : { ArrowRight: 1, ArrowLeft: -1 });
    if (!(event.key in moves)) return;
    event.preventDefault();
    const keys = this.buttons().map((each) => each.dataset.key);
    this.choose(keys[Math.min(keys.length - 1, Math.max(0, keys.indexOf(this.current) + moves[event.key]))]);
    this.focus();
  }
}

/** The folder and the name of a file; the name that a member gave it counts as its name. */
function parted({ key, name }) {
  const at = key.lastIndexOf("/") + 1;
  return name ? ["", name] : [key.slice(0, at), key.slice(at)];
}

/** A picture next to its name, which is not said twice. */
function thumbnail(row, uri, alt) {
  return picture(uri, row && alt === parted(row)[1] ? "" : alt);
}

function folded(text) {
  return text.normalize("NFC").toLocaleLowerCase();
}

function sizeOf(bytes) {
  const power = Math.min(3, Math.max(0, Math.floor((String(bytes).length - 1) / 3)));
  const amount = bytes / 1000 ** power;
  return `${power && amount < 10 ? amount.toFixed(1) : amount.toFixed(0)} ${["B", "kB", "MB", "GB"][power]}`;
}

function timeOf({ changed }) {
  const full = changed ? new Date(changed).toLocaleString("en-GB") : "";
  return element("time", { dateTime: changed ?? "", title: full, textContent: ago(changed) });
}

/** How long ago a time was, or the day: `1 min ago`, `today, 09:12`, `21 Nov`. */
function ago(time) {
  const then = new Date(time || NaN);
  const now = new Date();
  if (Number.isNaN(then.valueOf())) return "";
  const minutes = Math.floor((now - then) / MINUTE_MS);
  if (minutes < 60) return minutes < 1 ? "just now" : `${minutes} min ago`;
  const clock = then.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  const days = Math.round((new Date(now).setHours(0, 0, 0, 0) - new Date(then).setHours(0, 0, 0, 0)) / 86_400_000);
  if (days < 2) return `${days ? "yesterday" : "today"}, ${clock}`;
  const year = then.getFullYear() === now.getFullYear() ? {} : { year: "numeric" };
  return then.toLocaleDateString("en-GB", { day: "numeric", month: "short", ...year });
}

export default { render };
