-- What the corrections of accounts, mail, sign-ins and sources store.

-- The right to do work that reaches other machines, such as sending mail, which one of several processes of the file does.
CREATE TABLE lease (
    name  TEXT PRIMARY KEY,
    owner TEXT NOT NULL, -- a random text that names a process
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The codes with which members who have forgotten their password choose a new one, at most an hour old.
DROP TABLE reset_code;
CREATE TABLE reset_code (
    key     INTEGER PRIMARY KEY,
    member  INTEGER NOT NULL,
    hash    TEXT NOT NULL UNIQUE, -- SHA-256, hexadecimal
    issued  INTEGER NOT NULL,     -- 1 if an administrator has issued it, 0 if it was mailed
    expires INTEGER NOT NULL
) STRICT;
CREATE INDEX reset_code_member ON reset_code (member);

ALTER TABLE mail ADD COLUMN client TEXT; -- keyed hash of the network that has asked for it

-- The last record of the audit trail that earlier programs removed: they left no expired record, whose date would show that others
-- had expired.
ALTER TABLE audit_chain ADD COLUMN unwitnessed INTEGER NOT NULL DEFAULT 0;
UPDATE audit_chain SET unwitnessed = removed_seq;

-- The entry of its source that a post is: a hash of its id, or of what stands for it. NULL if it is not known.
ALTER TABLE post_source ADD COLUMN entry INTEGER;
CREATE INDEX post_source_entry ON post_source (source, entry);
-- The entries whose posts administrators have removed.
CREATE TABLE source_removed (
    key    INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source ON DELETE CASCADE,
    entry  INTEGER NOT NULL
) STRICT;
CREATE INDEX source_removed_entry ON source_removed (source, entry);
-- The day of the last new post, in days since 1970, and the number of new posts of that day.
ALTER TABLE source ADD COLUMN news_day INTEGER;
ALTER TABLE source ADD COLUMN day_posts INTEGER NOT NULL DEFAULT 0;
-- Since when its server says that it is gone permanently.
ALTER TABLE source ADD COLUMN gone_since INTEGER;

-- 1 if the session has begun with single sign-on.
ALTER TABLE session ADD COLUMN by_issuer INTEGER;

-- One row after words were learned or loaded: the word model, which was in a file beside the database.
CREATE TABLE word_model (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    model  INTEGER NOT NULL,
    origin TEXT NOT NULL -- JSON: the source, the posts and the time
) STRICT;
-- The parts of word models. Those of a model that is being stored, or that was replaced, belong to no row of word_model.
CREATE TABLE word_model_part (
    model   INTEGER NOT NULL,
    part    INTEGER NOT NULL,
    words   TEXT NOT NULL, -- JSON: each word, and whether it can be similar to others
    vectors BLOB NOT NULL, -- their components, 16 bits each, the low byte first
    PRIMARY KEY (model, part)
) STRICT;

-- What programs before version 31 have left.
DROP TABLE decay;
DROP INDEX post_stats_unconverted;
ALTER TABLE post_stats DROP COLUMN heat;
DROP INDEX post_outdated;
ALTER TABLE post DROP COLUMN tokenizer;
