// Reference pages come before decisions and the changelog. The numbers are those of Sphinx (searchtools.js).
var Scorer = {
  score: ([docname, title, anchor, descr, score]) => score - (/decisions\/|changelog/.test(docname) ? 20 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

const parseQuery = Search._parseQuery;
Search._parseQuery = (query) => {
  const entries = mainEntries();
  const parsed = parseQuery(query);
  const [, words, , highlighted] = parsed;
  // Statuses of errors, such as 429, are words (conf.py adds them to the index); Sphinx drops all numbers of a query.
  for (const status of query.match(/(?<![\w.-])[45]\d\d(?!\w)/g) ?? []) {
    words.add(status);
    highlighted.add(status);
  }
  // Sphinx finds an entry only if the query is a part of it. Search for the entry that has most of the query's words.
  const found = entries.filter((entry) => entry.words.every((word) => words.has(word)) && 2 * entry.words.length >= words.size);
  found.sort((one, other) => other.words.length - one.words.length);
  parsed[0] = found[0]?.text ?? query;
  return parsed;
};

// The words of docs/search.toml, with their stems.
const mainEntries = () =>
  Object.entries(Search._index.indexentries)
    .filter(([, places]) => places.some(([, , isMain]) => isMain))
    .map(([text]) => ({ text, words: [...parseQuery(text)[1]] }))
    .filter(({ words }) => words.length > 0);

// Sphinx finds nothing unless a page has all words of the query. Then show the pages that have some of them.
const performTermsSearch = Search.performTermsSearch;
Search.performTermsSearch = (words, excluded) => {
  const found = performTermsSearch(words, excluded);
  if (found.length > 0) return found;
  const pages = new Map();
  for (const word of words)
    for (const [page, title, anchor, descr, score, ...rest] of performTermsSearch(new Set([word]), excluded))
      pages.set(page, [page, title, anchor, descr, score + (pages.get(page)?.[4] ?? 0), ...rest]);
  return [...pages.values()];
};
