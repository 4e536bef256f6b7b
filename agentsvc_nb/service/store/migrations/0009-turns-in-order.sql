-- The turns of a chat stand in the order in which they were started, which is that of `rowid`: a clock that is set back
-- must not turn it. An index ends with the rowid by itself.
DROP INDEX run_of_chat;
CREATE INDEX run_of_chat ON run (chat);
