// What a file is, beside the list of files. Put behind common.js.

/** What the file that was opened is. */
class Pane {
  constructor(say, leave) {
    this.say = say;
    this.leave = leave;
    this.shown = false;
    this.name = element("strong");
    this.page = element("div", { className: "asvc-page jp-RenderedHTMLCommon", role: "region", tabIndex: 0 });
    const close = button("Close", "Close the preview (Escape)", () => this.close(), "asvc-plainbutton");
    const head = element("div", { className: "asvc-panehead" }, this.name, close);
    this.box = element("div", { className: "asvc-pane" }, head, this.page);
  }

  close() {
    this.say({ do: "close" });
    this.show(null);
    this.leave();
  }

  show(value) {
    const focused = focusedIn(this.box);
    this.shown = !!value;
    this.box.hidden = !value;
    this.name.textContent = this.name.title = value?.name ?? "";
    this.page.setAttribute("aria-label", `Preview of ${value?.name ?? ""}`);
    this.page.replaceChildren(markup(value?.html ?? "", embedded));
    this.page.scrollTop = 0;
    if (focused && !value) this.leave();
  }
}

const MEDIA = /^data:(audio|video)\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=]+$/;
const FETCHES_NOTHING = "default-src 'none'; img-src data:; style-src 'unsafe-inline'";

/** What a preview may hold besides: a page in a sandbox that runs and fetches nothing, and a player of what is in it. */
function embedded(node) {
  const title = node.getAttribute("title") ?? "";
  if (node.localName === "iframe" && node.hasAttribute("srcdoc")) {
    const frame = element("iframe", { title, className: "asvc-frame", referrerPolicy: "no-referrer" });
    frame.setAttribute("sandbox", "");
    const rule = `<meta http-equiv="Content-Security-Policy" content="${FETCHES_NOTHING}">`;
    frame.srcdoc = policy.createHTML(rule + node.getAttribute("srcdoc"));
    return frame;
  }
  if (!["audio", "video"].includes(node.localName) || !MEDIA.test(node.getAttribute("src") ?? "")) return null;
  return element(node.localName, { title, controls: true, preload: "metadata", src: node.getAttribute("src") });
}
