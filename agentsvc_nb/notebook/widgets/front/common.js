// What the views of the front end share. It is put before the module of a view, and both are loaded as one ES module.

const LINK = /^(https?:\/\/|mailto:)/i;
const IMAGE = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/;
const TAGS = new Set(
  `a blockquote br caption code del details div em figcaption figure h1 h2 h3 h4 h5 h6 hr img ins li mark meter ol p pre
   progress s span strong summary sub sup table tbody td th thead tr ul`.split(/\s+/),
);
const ATTRIBUTES = new Set(
  "alt aria-label class href max min open rel role scope src start style tabindex target title value".split(" "),
);
const CLASS = /^(asvc-[a-z]+|mathjax_(process|ignore)|tex2jax_(process|ignore))$/;
const UNSAFE_STYLE = /url|image|expression|[@\\]/i;

// Where a page enforces Trusted Types, a string may be parsed only through a policy. This one changes nothing: what it
// passes goes into an inert document, of which `copied` takes what is on the lists.
let policy = { createHTML: (html) => html };
try {
  policy = globalThis.trustedTypes?.createPolicy("agentsvc-nb", policy) ?? policy;
} catch {
  // The page allows no policy of this name, or it is there from another view: only an enforcing page minds.
}

/** HTML of our Python renderers as nodes: nothing in it executes or is fetched, whatever it is. `also` may give an element
 * for one that is not on the list, or nothing. */
function markup(html, also) {
  // A strict policy logs each style attribute that is parsed, so they are parsed under another name.
  const named = html.replace(/<[a-z][^<>]*>/gi, (tag) => tag.replaceAll(' style="', ' data-style="'));
  const inert = new DOMParser().parseFromString(policy.createHTML(named), "text/html");
  const made = document.createDocumentFragment();
  copied(inert.body, made, also);
  return made;
}

function copied(from, into, also) {
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) {
      into.append(node.data);
    } else if (node.nodeType === Node.ELEMENT_NODE) {
      const known = node.namespaceURI === "http://www.w3.org/1999/xhtml" && TAGS.has(node.localName);
      const given = known ? null : also?.(node);
      const made = given ?? document.createElement(known ? node.localName : "span");
      if (known) for (const { name, value } of node.attributes) attribute(made, name, value);
      if (!given) copied(node, made, also);
      into.append(made);
    }
  }
}

function attribute(made, parsed, value) {
  const name = parsed === "data-style" ? "style" : parsed;
  if (!ATTRIBUTES.has(name)) return;
  if (name === "href" && !LINK.test(value)) return;
  if (name === "src" && !(made.localName === "img" && IMAGE.test(value))) return;
  if (name === "class") value = value.split(" ").filter((each) => CLASS.test(each)).join(" ");
  if (name === "style") {
    // Through the object model, which a strict policy allows.
    if (!UNSAFE_STYLE.test(value)) made.style.cssText = value;
  } else {
    made.setAttribute(name, value);
  }
  if (name === "href") made.setAttribute("rel", "noopener noreferrer");
}

/** An element with these properties and children; `on…` are listeners, and names with a dash attributes. */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

/** A button. While it is marked as of no use, pressing it does nothing. */
function button(name, title, press, look = "") {
  const pressed = (event) => event.currentTarget.getAttribute("aria-disabled") !== "true" && press(event);
  return element("button", { type: "button", textContent: name, title, className: look, onclick: pressed });
}

/** A button that is an icon alone; its title is its name, and what a screen reader says unless `name` is given. */
function iconButton(shown, title, press, look = "", name = title) {
  const made = button("", title, press, `asvc-iconbutton ${look}`);
  made.setAttribute("aria-label", name);
  made.append(icon(shown));
  return made;
}

/** A file as a chip: its icon and name, and what is `after` it. */
function chip(name, ...after) {
  return element("span", { className: "asvc-chip", title: name, dir: "auto" }, icon(iconOf(name)), element("span", { className: "asvc-cut" }, ...inTheMiddle(name)), ...after);
}

/** A picture of which only the alternative text is shown unless it is one of ours: a data URI. */
function picture(uri, alt, look = "") {
  return element("img", { src: IMAGE.test(uri ?? "") ? uri : "", alt, className: look });
}

const ENDING = 9; // characters of a name that are always shown
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;

/** The name of a file in two parts: where there is no room for it, its middle is left out (`asvc-cut`). Names of pictures
 * and of versions differ in their ends. */
function inTheMiddle(name) {
  const letters = [...name];
  const at = RIGHT_TO_LEFT.test(name) ? letters.length : Math.max(0, letters.length - ENDING);
  const parts = [letters.slice(0, at), letters.slice(at)].filter((part) => part.length);
  return parts.map((part) => element("span", { textContent: part.join("") }));
}

/** Mark whether a button is of use now; one that is `disabled` would lose the focus. */
function offered(made, use) {
  made.setAttribute("aria-disabled", String(!use));
}

/** What has the focus within an element, if anything has, also in a shadow root. */
function focusedIn(el) {
  const focused = el.getRootNode().activeElement;
  return focused && el.contains(focused) ? focused : null;
}

/** Put the style sheets where the element is: into the page, or the shadow root that a host shows it in. What all views
 * share comes before the sheet of each view, whichever view was opened first. */
function dress(el, model) {
  const [base, own] = ["base", "sheet"].map((name) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(model.get(name));
    return sheet;
  });
  let dressed;
  const put = () => {
    const root = el.getRootNode();
    const place = root instanceof ShadowRoot ? root : document;
    if (place === dressed) return;
    undress();
    place.adoptedStyleSheets = [base, ...place.adoptedStyleSheets, own];
    dressed = place;
  };
  const undress = () => {
    if (dressed) dressed.adoptedStyleSheets = dressed.adoptedStyleSheets.filter((each) => each !== base && each !== own);
  };
  put();
  const watch = new ResizeObserver(put); // the element is attached only after `render`
  watch.observe(el);
  return () => {
    watch.disconnect();
    undress();
  };
}

/** Show pictures large, one after the other, over the page; Escape closes, the arrows go on. */
function showLarge(root, pictures, first) {
  let at = first;
  const shown = element("img", { className: "asvc-largest" });
  const said = element("div", { className: "asvc-quiet", role: "status" });
  const go = (step) => {
    at = (at + step + pictures.length) % pictures.length;
    shown.src = pictures[at].src;
    shown.alt = pictures[at].alt;
    said.textContent = pictures.length > 1 ? `${shown.alt} · ${at + 1} of ${pictures.length}` : shown.alt;
  };
  const dialog = element("dialog", {
    className: "asvc-large",
    "aria-label": "Pictures",
    onclose: () => dialog.remove(),
    onclick: ({ target }) => (target === dialog || target === shown) && dialog.close(),
    onkeydown: ({ key }) => {
      if (key === "ArrowLeft" || key === "ArrowRight") go(key === "ArrowLeft" ? -1 : 1);
    },
  });
  const before = iconButton("left", "Previous picture", () => go(-1));
  const after = iconButton("right", "Next picture", () => go(1));
  before.hidden = after.hidden = pictures.length < 2;
  const close = iconButton("close", "Close", () => dialog.close());
  dialog.append(shown, element("div", { className: "asvc-row" }, before, said, after, close));
  go(0);
  root.append(dialog);
  dialog.showModal(); // gives the focus back when it closes
}

const KEYS = new Set("Enter, ,ArrowUp,ArrowDown,ArrowLeft,ArrowRight,Home,End,PageUp,PageDown,Escape".split(","));

/** Keep these keys, and those that are `also` used, from the shortcuts of JupyterLab, which takes them before they come
 * here; returns how to stop that. */
function keepKeys(root, also = () => false) {
  const pressed = (event) => {
    const focused = event.composedPath()[0];
    if (!(focused instanceof Element) || !root.contains(focused)) return;
    const plain = KEYS.has(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey;
    focused.toggleAttribute("data-lm-suppress-shortcuts", plain || also(event, focused)); // any other key is a shortcut there as elsewhere
  };
  addEventListener("keydown", pressed, true);
  return () => removeEventListener("keydown", pressed, true);
}

/** Have the host typeset what our renderer marked as mathematics, if it can. */
function typeset(model, within) {
  const typesetter = model.widget_manager?._rendermime?.latexTypesetter;
  if (typesetter) for (const formula of within.querySelectorAll(".mathjax_process")) typesetter.typeset(formula);
}

const GONE = "The kernel no longer responds to this output. If the kernel was restarted, run this cell again.";

/** Show the parts of the model with `show(name, value)`, where null removes; a whole state with `reset` before it. Say
 * below `root` when its kernel has gone. */
function follow(model, root, reset, show) {
  const view = crypto.getRandomValues(new Uint32Array(2)).join("-");
  const gone = element("div", { className: "asvc-wrong", role: "alert", textContent: GONE });
  let known = false;
  const heard = ({ view: wanted, parts }) => {
    gone.remove();
    if (!parts || (wanted ? known || wanted !== view : !known)) return;
    if (wanted) reset();
    known = true;
    show(parts);
  };
  // Not of anywidget, but of the models below it: the page has noticed that the kernel was restarted, or is away.
  const lost = () => root.after(gone);
  model.on("msg:custom", heard);
  model.on("comm_live_update", lost);
  // Said again until it is heard: the first widget of a page is drawn before its kernel has a subshell, and what is sent
  // until then waits for the end of the cell.
  let again;
  const hello = (pause) => {
    if (known) return;
    try {
      model.send({ do: "hello", view });
    } catch {
      return lost(); // the host has left this kernel
    }
    if (pause < 60_000) again = setTimeout(hello, pause, 2 * pause);
  };
  hello(250);
  return () => {
    clearTimeout(again);
    model.off("msg:custom", heard);
    model.off("comm_live_update", lost);
    gone.remove();
    model.send({ do: "bye", view }); // the last, as it fails where the host has left this kernel
  };
}

/** Copy an element as rich and plain text, or a text; where the page may not, show it selected, to be copied by hand. */
async function copy(what, place) {
  const [text, html] = typeof what === "string" ? [what] : read(what);
  try {
    if (!html || !globalThis.ClipboardItem) {
      await navigator.clipboard.writeText(text);
    } else {
      const kinds = { "text/plain": text, "text/html": html };
      const blobs = Object.entries(kinds).map(([type, data]) => [type, new Blob([data], { type })]);
      await navigator.clipboard.write([new ClipboardItem(Object.fromEntries(blobs))]);
    }
    return "Copied.";
  } catch {
    const shown = element("textarea", { value: text, readOnly: true, rows: 6, "aria-label": "To copy" });
    place.querySelector(".asvc-tocopy")?.remove();
    place.append(element("div", { className: "asvc-tocopy" }, shown));
    shown.focus();
    shown.select();
    return document.execCommand("copy") ? "Copied." : "Press Ctrl+C to copy.";
  }
}

/** Put a button to copy it on a block of code. */
function withCopy(pre) {
  const text = pre.textContent.replace(/\n$/, "");
  const made = iconButton("copy", "Copy this code", async () => {
    if ((await copy(text, frame)) === "Copied.") made.replaceChildren(icon("check"));
  }, "asvc-copy");
  const frame = element("div", { className: "asvc-code" });
  pre.replaceWith(frame);
  frame.append(pre, made);
}

/** The plain text and the HTML of an element, without its buttons. */
function read(what) {
  const buttons = [...what.querySelectorAll("button")];
  for (const each of buttons) each.hidden = true; // so that `innerText`, which is that of the layout, leaves it out
  const text = what.innerText;
  for (const each of buttons) each.hidden = false;
  const clone = what.cloneNode(true);
  for (const each of clone.querySelectorAll("button")) each.remove();
  return [text, clone.innerHTML];
}

/** Insert a cell below the one that `el` is in, where the host shares its notebook with widgets; whether it did. */
function inserted(model, el, source) {
  const notebook = model.widget_manager?.context?.model?.sharedModel;
  if (typeof notebook?.insertCell !== "function") return false;
  const cell = el.closest(".jp-Cell");
  const shown = cell?.dataset.windowedListIndex ?? [...(cell?.parentElement?.children ?? [])].indexOf(cell);
  const at = cell && Number(shown) >= 0 ? Number(shown) + 1 : notebook.cells.length;
  notebook.insertCell(Math.min(at, notebook.cells.length), { cell_type: "code", source, metadata: {} });
  return true;
}

const SLICE = 1_000_000; // bytes; servers drop a message of more than ten million

/** Send a file to the kernel in slices; where `taken(id, bytes)` is given, each waits until it says that they are. */
async function sendFile(model, file, taken = async () => true) {
  const id = crypto.getRandomValues(new Uint32Array(2)).join("-");
  const whole = { do: "file", id, name: file.name, size: file.size };
  for (let at = 0; at === 0 || at < file.size; at += SLICE) {
    const slice = await file.slice(at, at + SLICE).arrayBuffer();
    model.send({ ...whole, at }, undefined, [slice]);
    if (!(await taken(id, at + slice.byteLength))) return;
  }
}

/** Take files that are pasted into the element; a text that comes along is pasted as text. */
function takePasted(el, take) {
  el.addEventListener("paste", (event) => {
    const { files, types } = event.clipboardData;
    if (!files.length || types.includes("text/plain")) return; // a table of a spreadsheet comes as both
    event.preventDefault();
    take([...files]);
  });
}

/** Take files that are dropped on the element. */
function takeDrops(el, take) {
  const holds = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  const over = (event) => {
    if (!holds(event)) return;
    event.preventDefault();
    el.classList.add("asvc-over");
  };
  el.addEventListener("dragenter", over);
  el.addEventListener("dragover", over);
  el.addEventListener("dragleave", () => el.classList.remove("asvc-over"));
  el.addEventListener("drop", (event) => {
    el.classList.remove("asvc-over");
    if (!holds(event)) return;
    event.preventDefault();
    take([...event.dataTransfer.files]);
  });
}
