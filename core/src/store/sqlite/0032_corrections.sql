-- What the corrections of accounts, mail, sign-ins and sources store.

-- What programs before version 31 have left.
DROP TABLE decay;
DROP INDEX post_stats_unconverted;
ALTER TABLE post_stats DROP COLUMN heat;
DROP INDEX post_outdated;
ALTER TABLE post DROP COLUMN tokenizer;
