// What readers look for first comes first in the search: why something is so, and what it once was, come after what it is.
// The numbers are those of Sphinx (searchtools.js).
var Scorer = {
  score: ([docname, title, anchor, descr, score]) =>
    score - (/decisions\/|changelog/.test(docname) ? 20 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// Statuses of errors, such as 429, are words (conf.py has the index know them); Sphinx drops all numbers of a question.
const parseWords = Search._parseQuery;
Search._parseQuery = (query) => {
  const parsed = parseWords(query);
  const [, searched, , highlighted] = parsed;
  for (const status of query.match(/(?<![\w.-])[45]\d\d(?!\w)/g) ?? []) {
    searched.add(status);
    highlighted.add(status);
  }
  return parsed;
};
