-- Search at scale (docs/decisions/0011-search-at-scale.md). `names`, `words` and `levels` hold our own tokens, each
-- behind four characters that stand for the chat and one that says what the token is (store/fts.py): a word of one
-- chat is a term of its own, and its prefixes of up to three letters have lists of their own. A chat is searched
-- without a look at any other.
--
-- SQL cannot make the tokens: the service indexes the files again when it starts (usecases/searching.py).

DROP TABLE file_words;
CREATE VIRTUAL TABLE file_words USING fts5 (names, words, levels, tokenize = 'ascii', prefix = '6 7 8');
