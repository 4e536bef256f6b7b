// What a file is, next to the list of files: a page, a picture, its versions. Put behind common.js.

const MEDIA = /^data:(audio|video)\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=]+$/;

/** The file that is open. */
class Pane {
  constructor(say, leave, step) {
    this.say = say;
    this.leave = leave;
    this.title = element("strong", { className: "asvc-title" });
    this.facts = element("div", { className: "asvc-quiet" });
    this.page = element("div", { className: "asvc-page jp-RenderedHTMLCommon", role: "region", tabIndex: 0 });
    this.figure = new Figure();
    this.versions = element("details", { className: "asvc-versions" });
    this.back = iconButton("left", "Previous file", () => step(-1));
    this.next = iconButton("right", "Next file", () => step(1));
    const get = iconButton("download", "Download it to the notebook's folder, like %files get", () => this.act("get"));
    const copying = iconButton("copy", "Copy its path, for use in a question", async () => {
      this.note.textContent = await copy(this.key, this.box);
    });
    const close = iconButton("close", "Close the preview (Escape)", () => this.close());
    const head = element("div", { className: "asvc-head" }, this.title, this.back, this.next, get, copying, close);
    this.note = element("div", { className: "asvc-quiet", role: "status" });
    this.box = element("div", { className: "asvc-pane", role: "group", tabIndex: -1 });
    this.box.append(head, this.facts, this.versions, this.note, this.figure.box, this.page);
    this.box.addEventListener("keydown", (event) => this.pressed(event, step));
  }

  close() {
    this.say({ do: "close" });
    this.show(null);
  }

  act(what) {
    this.say({ do: what, key: this.key, version: this.version });
  }

  /** Show at once what is opened, while the kernel reads it. */
  expect(row, thumb) {
    if (row) this.show({ ...row, name: parted(row)[1], html: "<p>Reading …</p>", images: thumb?.[0] ? [thumb] : [] });
  }

  show(value) {
    const focused = focusedIn(this.box);
    const { key = "", name = "", version = 1, images = [], html = "", versions = [], caption = "" } = value ?? {};
    Object.assign(this, { key, version, shown: !!value });
    this.box.hidden = !value;
    this.box.setAttribute("aria-label", `Preview of ${name}`);
    this.title.title = name;
    this.title.replaceChildren(element("bdi", { className: "asvc-cut" }, ...inTheMiddle(name)));
    const known = value ? [sizeOf(value.size), value.by, ago(value.changed), caption] : [];
    this.facts.textContent = known.filter(Boolean).join(" · ");
    this.note.textContent = "";
    this.figure.show(images);
    this.page.hidden = images.length > 0;
    this.page.setAttribute("aria-label", `Content of ${name}`);
    this.page.replaceChildren(markup(html, player));
    this.page.scrollTop = 0;
    this.list(versions);
    if (!value && focused) this.leave();
  }

  /** The versions of the file, if it has more than one; an earlier one that is open can be restored. */
  list(versions) {
    this.versions.hidden = versions.length < 2;
    this.versions.open = this.version < versions[0]?.version;
    const lines = versions.map(({ version, size, by, changed }) => {
      const open = button(`v${version}`, `Show version ${version}`, () => this.say({ do: "open", key: this.key, version }));
      if (version === this.version) open.setAttribute("aria-current", "true");
      const facts = element("span", { className: "asvc-quiet", textContent: `${sizeOf(size)} · ${by} · ${ago(changed)}` });
      const restore = button("Restore", `Restore version ${version} as the newest version`, () => this.act("restore"));
      const isOlder = version === this.version && version < versions[0].version;
      return element("li", { className: "asvc-row" }, open, facts, ...(isOlder ? [restore] : []));
    });
    const summary = element("summary", { textContent: `${versions.length} versions` });
    this.versions.replaceChildren(summary, element("ul", {}, ...lines));
  }

  pressed(event, step) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === this.figure.wipe) return;
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || this.figure.box.hidden) return;
    event.preventDefault();
    event.stopPropagation();
    step(by);
  }
}

/** A picture, or an edited one that lies over the one before it. A press fills the window with it. */
class Figure {
  constructor() {
    this.pair = element("div", { className: "asvc-pair" });
    this.full = element("div", { className: "asvc-full", popover: "auto" }, this.pair);
    this.enlarge = button("Enlarge", "Fill the window. Press Escape to leave.", () => {});
    this.enlarge.popoverTargetElement = this.full;
    this.wipe = element("input", { type: "range", min: 0, max: 100, step: 10, oninput: () => this.wiped() });
    this.comparing = element("label", { className: "asvc-field" }, "Before", this.wipe, "After");
    this.wipe.setAttribute("aria-label", "How much of the earlier picture is shown, %");
    this.box = element("div", { className: "asvc-figure" }, this.full, element("div", { className: "asvc-row" }, this.comparing, this.enlarge));
  }

  isEnlarged() {
    return this.full.isConnected && this.full.matches(":popover-open");
  }

  show(images) {
    if (!images.length && this.isEnlarged()) this.full.hidePopover();
    this.box.hidden = !images.length;
    this.comparing.hidden = images.length < 2;
    this.pair.replaceChildren(...images.map(([uri, alt], at) => picture(uri, alt, at ? "asvc-after" : "")));
    this.wipe.value = 50;
    this.wiped();
  }

  wiped() {
    this.pair.style.setProperty("--asvc-wipe", `${this.wipe.value}%`);
  }
}

/** A player of the sound or video that is in the page. */
function player(node) {
  const { localName: name } = node;
  const src = node.getAttribute("src") ?? "";
  if (!["audio", "video"].includes(name) || !MEDIA.test(src)) return null;
  return element(name, { title: node.getAttribute("title") ?? "", controls: true, preload: "metadata", src });
}
