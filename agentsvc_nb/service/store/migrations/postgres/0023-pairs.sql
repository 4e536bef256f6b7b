-- Which words stand right after which in a file, as a Bloom filter (store/pairs.py); NULL where that was not noted, as of files
-- that an earlier version has indexed. It is read of each file that may have a phrase, so it stays in the row.
ALTER TABLE file_words ADD COLUMN pairs BYTEA;
ALTER TABLE file_words ALTER pairs SET STORAGE MAIN;
