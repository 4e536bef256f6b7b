// What readers look for first comes first in the search: why something is so, and what it once was, come after what it is.
// The numbers are those of Sphinx (searchtools.js).
var Scorer = {
  score: ([docname, title, anchor, descr, score]) =>
    score - (/decisions\/|changelog|spec-map|not-on-postgres/.test(docname) ? 20 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
