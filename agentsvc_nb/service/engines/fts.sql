-- The full-text index of workspace files. Plain tables: an index without its own content would have to be told the
-- old tokens at each change, and would be corrupted by an upgrade that folds words another way.

CREATE TABLE IF NOT EXISTS file_text (
    id   INTEGER PRIMARY KEY,
    chat TEXT NOT NULL,
    path TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (chat, path)
);

-- `words` are our own tokens (rules/folding.py), one blank apart: the ascii tokenizer keeps them whole. `scope` is the
-- chat, as one token: a common word is then looked up among the files of one chat, not of all.
CREATE VIRTUAL TABLE IF NOT EXISTS file_words USING fts5 (scope, words, tokenize = 'ascii', prefix = '2 3');
