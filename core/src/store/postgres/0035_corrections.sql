-- What the corrections of accounts, mail, sign-ins and sources store.

-- What programs before version 34 have left.
DROP TABLE decay;
DROP INDEX post_stats_unconverted;
ALTER TABLE post_stats DROP COLUMN heat;
DROP TRIGGER mark_outdated_tokens ON post;
DROP FUNCTION mark_outdated_tokens;
DROP INDEX post_outdated;
ALTER TABLE post DROP COLUMN tokenizer;
