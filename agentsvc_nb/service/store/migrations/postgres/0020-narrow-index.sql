-- A search passes over all rows that have a word, and reads little of each: that stays in the row, and the rest lies beside
-- it, so that 100,000 rows are some 20 MB. Without statistics of the lexemes the planner takes any word to be a rare one and
-- asks the index: by them it would read the tokens of all files for a common word, which takes twenty times as long.
ALTER TABLE file_words SET (toast_tuple_target = 128);
ALTER TABLE file_words
    ALTER chat SET STORAGE MAIN,
    ALTER path SET STORAGE MAIN,
    ALTER names SET STORAGE MAIN,
    ALTER first_name SET STORAGE MAIN,
    ALTER own_name SET STORAGE MAIN,
    ALTER levels SET STORAGE EXTERNAL;
-- Rows that are there are written anew, and their statistics forgotten.
ALTER TABLE file_words
    ALTER names TYPE TSVECTOR USING names || ''::TSVECTOR,
    ALTER tokens TYPE TSVECTOR USING tokens || ''::TSVECTOR,
    ALTER levels TYPE TSVECTOR USING levels || ''::TSVECTOR;
ALTER TABLE file_words
    ALTER names SET STATISTICS 0,
    ALTER tokens SET STATISTICS 0,
    ALTER levels SET STATISTICS 0;
