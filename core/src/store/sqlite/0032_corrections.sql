-- What the corrections of accounts, mail, sign-ins and sources store.

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
