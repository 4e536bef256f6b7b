// The icons of all views: paths in a square of 16, drawn with lines (`.asvc-icon` of front.css). They say nothing to a screen
// reader: what carries one has a name of its own. Put before common.js.

const PATHS = {
  agent: "M8 2v3M8 11v3M2 8h3M11 8h3M4.2 4.2l1.6 1.6M10.2 10.2l1.6 1.6M11.8 4.2l-1.6 1.6M5.8 10.2l-1.6 1.6",
  attach: "M13 7.5 8 12.5a3 3 0 0 1-4.3-4.3l5.5-5.5a2 2 0 0 1 2.9 2.9L6.7 11a1 1 0 0 1-1.4-1.4L10 5",
  send: "M8 13V3M4 7l4-4 4 4",
  stop: "M4.5 4.5h7v7h-7z",
  copy: "M5.5 5.5h8v8h-8zM10.5 2.5h-8v8",
  again: "M13 8a5 5 0 1 1-1.5-3.6M13 2v3h-3",
  cell: "M2 3h12v10H2zM8 5.8v4.4M5.8 8h4.4",
  side: "M2 3h12v10H2zM10 3v10",
  close: "m4 4 8 8M12 4l-8 8",
  check: "m3 8.5 3.2 3.2L13 5",
  wrong: "M8 2 1.8 13h12.4zM8 6.3v3.2M8 11.3v.1",
  clock: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 5v3l2 1.5",
  search: "M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8M10 10l4 4",
  upload: "M8 10V2.5M5 5.5l3-3 3 3M2.5 10v3.5h11V10",
  download: "M8 2.5V10M5 7l3 3 3-3M2.5 10v3.5h11V10",
  edit: "M3 13l.6-2.8L11 2.8l2.2 2.2-7.4 7.4zM9.5 4.3l2.2 2.2",
  up: "M3.5 10 8 5.5 12.5 10",
  down: "M3.5 6 8 10.5 12.5 6",
  left: "M10 3.5 5.5 8l4.5 4.5",
  right: "M6 3.5 10.5 8 6 12.5",
  dot: "M8 7.2a.8.8 0 1 0 0 1.6.8.8 0 0 0 0-1.6",
  more: "M3.5 8h.1M8 8h.1M12.5 8h.1",
  list: "M5.5 4H14M5.5 8H14M5.5 12H14M2.5 4h.1M2.5 8h.1M2.5 12h.1",
  grid: "M2.5 2.5h4.5v4.5h-4.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5h-4.5zM9 9h4.5v4.5H9z",
  tool: "M10.2 2.4a3.4 3.4 0 0 0-3.9 4.7L2.5 10.9v2.6h2.6l3.8-3.8a3.4 3.4 0 0 0 4.7-3.9l-2.1 2.1-2.1-.6-.6-2.1z",
  code: "M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5",
  data: "M3 4c0-1 2.2-1.8 5-1.8S13 3 13 4v8c0 1-2.2 1.8-5 1.8S3 13 3 12zM3 4c0 1 2.2 1.8 5 1.8S13 5 13 4M3 8c0 1 2.2 1.8 5 1.8S13 9 13 8",
  folder: "M1.5 3.5h4.5l1.5 2h7v7.5h-13z",
  file: "M4 1.5h5l3 3v10H4zM9 1.5v3h3",
  text: "M4 1.5h5l3 3v10H4zM9 1.5v3h3M6 8h4M6 10.5h4",
  table: "M2 3h12v10H2zM2 6.5h12M2 10h12M6.5 3v10",
  picture: "M2 3h12v10H2zM2 11l4-4 3 3 2-2 3 3",
  pdf: "M4 1.5h5l3 3v10H4zM9 1.5v3h3M6 11.5c2-1 3-3 2.5-4.5C8 9 9 10.5 10.5 10.5",
  sound: "M2.5 6v4h2.5l3 2.5v-9L5 6zM10.5 6a3 3 0 0 1 0 4M12.2 4.3a5.5 5.5 0 0 1 0 7.4",
  film: "M2 3.5h12v9H2zM6.5 6v4l3.5-2z",
};

const KINDS = [
  [/^image\/|\.(png|jpe?g|gif|webp|svg)$/i, "picture"],
  [/^audio\/|\.(mp3|wav|ogg|m4a|flac)$/i, "sound"],
  [/^video\/|\.(mp4|webm|mov|mkv)$/i, "film"],
  [/pdf$/i, "pdf"],
  [/csv|tab-separated|spreadsheet|excel|parquet|\.(tsv|xlsx?|ods)$/i, "table"],
  [/word|presentation|\.(docx?|pptx?)$/i, "text"], // their media types name XML, too
  [/json|javascript|python|sql|xml|\.(js|py|ya?ml|ipynb)$/i, "code"],
  [/^text\/|\.(txt|md|html?|rtf|odt)$/i, "text"],
];

/** An icon by its name; of a file by its media type or its own name with `iconOf`. */
function icon(name) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  made.setAttribute("viewBox", "0 0 16 16");
  made.setAttribute("class", "asvc-icon");
  made.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", PATHS[name] ?? PATHS.file);
  made.append(path);
  return made;
}

/** The name of the icon for a file of this media type or name. */
function iconOf(type) {
  return KINDS.find(([kinds]) => kinds.test(type ?? ""))?.[1] ?? "file";
}
