-- Caches find what is new by the revision of the transaction that wrote it. Several writers can commit out of the order
-- in which they took their keys, so a cache that goes by keys could miss a row.

-- The posts that changed, for caches. Only the latest changes stay, at least one. A row with the post 0 means that all
-- posts may have changed: caches know nothing of the changes up to now.
DROP TABLE post_change;
CREATE TABLE post_change (
    revision INTEGER NOT NULL,
    post     INTEGER NOT NULL,
    PRIMARY KEY (revision, post)
) STRICT, WITHOUT ROWID;
INSERT INTO post_change (revision, post) SELECT n, 0 FROM revision;

-- Every search, from which trends are counted. The number orders the searches of a transaction. Earlier searches have
-- the revision 0 and their keys as numbers.
ALTER TABLE term RENAME TO earlier_term;
CREATE TABLE term (
    revision INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    term     TEXT NOT NULL,
    visitor  INTEGER NOT NULL,              -- as in the table of visitors; 0: nobody in particular
    date     INTEGER NOT NULL,
    PRIMARY KEY (revision, number)
) STRICT, WITHOUT ROWID;
INSERT INTO term (revision, number, term, visitor, date)
    SELECT 0, key, term, visitor, date FROM earlier_term ORDER BY key;
DROP TABLE earlier_term;
CREATE INDEX term_date ON term (date);
