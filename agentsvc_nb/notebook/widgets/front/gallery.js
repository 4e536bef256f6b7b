// The gallery: pictures in a grid, one of them large, and an edited one over the one before it. Put behind common.js.
// Parts: page, thumb/PLACE, view, said.

function render({ model, el }) {
  const gallery = new GalleryView(model, el);
  const undress = dress(el, model.get("sheet"));
  const release = keepKeys(gallery.root);
  const leave = follow(model, gallery.root, () => gallery.reset(), (parts) => gallery.show(parts));
  return () => {
    leave();
    release();
    undress();
  };
}

class GalleryView {
  constructor(model, el) {
    const say = (message) => model.send(message);
    this.grid = new Grid(say);
    this.large = new Large(say);
    this.said = element("div", { className: "asvc-muted", role: "status" });
    this.root = element("div", { className: "asvc asvc-card asvc-gallery" }, this.grid.box, this.large.box, this.said);
    el.append(this.root);
  }

  reset() {
    this.grid.reset();
    this.large.show(null);
    this.view(null);
  }

  show(parts) {
    for (const [name, value] of Object.entries(parts)) {
      const [kind, key] = name.split("/");
      if (kind === "page") this.grid.turn(value);
      else if (kind === "thumb") this.grid.part(Number(key), value);
      else if (kind === "said") {
        this.said.className = value?.wrong ? "asvc-wrong" : "asvc-muted";
        this.said.replaceChildren(markup(value?.html ?? ""));
      }
    }
    if ("view" in parts) this.view(parts.view); // last: its place in the grid is there then
  }

  /** Show a picture large, or with null the grid again; the focus goes along. */
  view(value) {
    const focused = focusedIn(this.root);
    const changed = this.large.box.hidden !== !value;
    if (value) this.grid.chosen = value.at;
    this.large.show(value);
    this.large.box.hidden = !value;
    this.grid.box.hidden = !!value;
    if (!focused || !changed) return;
    if (value) this.large.box.focus();
    else this.grid.focus();
  }
}

/** The pictures of a page. One of them is the one that Tab reaches, and the arrow keys go on from it. */
class Grid {
  constructor(say) {
    this.say = say;
    this.list = element("ul", { className: "asvc-thumbs", "aria-label": "Pictures" });
    this.before = button("Previous", "The pictures before", () => this.go(this.from - 1, false));
    this.after = button("Next", "The next pictures", () => this.go(this.from + this.thumbs.size, false));
    this.turning = element("div", { className: "asvc-row" }, this.before, this.after);
    this.box = element("div", {}, this.list, this.turning);
    this.list.addEventListener("keydown", (event) => this.pressed(event));
    this.reset();
  }

  reset() {
    this.from = this.total = this.chosen = 0;
    this.thumbs = new Map();
    this.list.replaceChildren();
  }

  turn({ from, total, per }) {
    const focused = focusedIn(this.list);
    Object.assign(this, { from, total });
    if (this.chosen < from || this.chosen >= from + per) this.chosen = from;
    this.turning.hidden = total <= per;
    offered(this.before, from > 0);
    offered(this.after, from + per < total);
    this.choose(this.chosen, !!focused);
  }

  part(place, value) {
    const made = this.thumbs.get(place) ?? (value && this.thumb(place));
    if (!value) {
      made?.item.remove();
      this.thumbs.delete(place);
      return;
    }
    const { name, alt, caption, uri } = value;
    made.still.replaceChildren(...(uri ? [picture(uri, alt)] : []));
    made.name.replaceChildren(...inTheMiddle(name));
    made.press.title = caption;
    made.press.setAttribute("aria-label", [...new Set([uri ? alt : "", name, value.size])].filter(Boolean).join(", "));
    made.size.textContent = value.size;
    this.choose(this.chosen, false);
  }

  thumb(place) {
    const still = element("span", { className: "asvc-still" });
    const name = element("span", { className: "asvc-cut" });
    const size = element("span", { className: "asvc-muted" });
    const press = button("", "", () => this.say({ do: "view", at: this.from + place }), "asvc-thumb");
    press.append(still, name, size);
    const made = { still, name, size, press, item: element("li", {}, press) };
    const next = [...this.thumbs.keys()].filter((each) => each > place);
    this.list.insertBefore(made.item, this.thumbs.get(Math.min(...next))?.item ?? null);
    this.thumbs.set(place, made);
    return made;
  }

  choose(at, focus) {
    this.chosen = at;
    for (const [place, { press }] of this.thumbs) press.tabIndex = this.from + place === at ? 0 : -1;
    if (focus) this.focus();
  }

  focus() {
    (this.thumbs.get(this.chosen - this.from) ?? this.thumbs.get(0))?.press.focus();
  }

  go(at, focus = true) {
    const to = Math.min(this.total - 1, Math.max(0, at));
    if (this.thumbs.has(to - this.from)) this.choose(to, focus);
    else {
      this.chosen = to;
      this.say({ do: "turn", at: to });
    }
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.chosen;
    const across = getComputedStyle(this.list).gridTemplateColumns.split(" ").length;
    const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + across, ArrowUp: at - across, Home: 0, End: this.total - 1 };
    if (!(event.key in moves)) return;
    event.preventDefault();
    if (moves[event.key] >= 0 && moves[event.key] < this.total) this.go(moves[event.key]);
  }
}

/** One picture, or an edited one that lies over the one before it. */
class Large {
  constructor(say) {
    this.say = say;
    this.pair = element("div", { className: "asvc-pair" });
    this.full = element("div", { className: "asvc-full", popover: "auto" }, this.pair);
    this.caption = element("figcaption");
    this.previous = button("Previous", "The picture before (←)", () => this.step(-1));
    this.next = button("Next", "The next picture (→)", () => this.step(1));
    this.enlarge = button("Enlarge", "Fill the window; Escape leaves that", () => {}); // a popover of the browser's own
    this.enlarge.popoverTargetElement = this.full;
    const close = button("Close", "Back to the grid (Escape)", () => say({ do: "close" }));
    this.wipe = element("input", { type: "range", min: 0, max: 100, step: 10, value: 50, oninput: () => this.wiped() });
    const field = element("label", { className: "asvc-field" }, "Of the picture before, %", this.wipe);
    const only = (name, percent) => button(name, `Only the picture ${name.toLowerCase()}`, () => this.wiped(percent));
    this.comparing = element("div", { className: "asvc-row" }, field, only("Before", 100), only("After", 0));
    const row = element("div", { className: "asvc-row" }, this.previous, this.next, this.enlarge, close);
    const figure = element("figure", { className: "asvc-figure" }, this.full, this.caption);
    this.box = element("div", { className: "asvc-view", role: "group", tabIndex: -1 }, row, figure, this.comparing);
    this.box.addEventListener("keydown", (event) => this.pressed(event));
  }

  step(by) {
    const to = this.at + by;
    if (to >= 0 && to < this.total) this.say({ do: "view", at: to });
  }

  wiped(percent = this.wipe.value) {
    this.wipe.value = percent;
    this.pair.style.setProperty("--asvc-wipe", `${percent}%`);
  }

  show(value) {
    if (!value && this.full.isConnected && this.full.matches(":popover-open")) this.full.hidePopover();
    const { at = 0, total = 0, name = "", images = [], caption = "", empty = "" } = value ?? {};
    Object.assign(this, { at, total });
    this.box.setAttribute("aria-label", `Picture ${at + 1} of ${total}: ${name}`);
    const shown = images.map(([uri, alt], place) => picture(uri, alt, place ? "asvc-after" : ""));
    this.pair.replaceChildren(...shown, ...(empty ? [element("div", { className: "asvc-empty", textContent: empty })] : []));
    this.caption.textContent = caption;
    this.comparing.hidden = images.length < 2;
    offered(this.previous, at > 0);
    offered(this.next, at + 1 < total);
    offered(this.enlarge, images.length > 0);
    this.wiped(50);
  }

  pressed(event) {
    if (event.target === this.wipe && event.key !== "Escape") return; // the arrow keys are the slider's
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const acts = { ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1), Escape: () => this.say({ do: "close" }) };
    if (!acts[event.key] || (event.key === "Escape" && this.full.matches(":popover-open"))) return;
    event.preventDefault();
    event.stopPropagation();
    acts[event.key]();
  }
}

export default { render };
