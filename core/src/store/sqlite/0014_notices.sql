-- When, where and to whom notices are visible. Times are in milliseconds; NULL is no limit.
ALTER TABLE notice ADD COLUMN visible_from INTEGER;
ALTER TABLE notice ADD COLUMN visible_until INTEGER;
ALTER TABLE notice ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE notice ADD COLUMN topic TEXT;
ALTER TABLE notice ADD COLUMN members_only INTEGER NOT NULL DEFAULT 0;

-- Drafts of administrators. A draft may change a notice, which may have been removed.
CREATE TABLE notice_draft (
    key     INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    notice  TEXT,                           -- its id
    content TEXT NOT NULL,                  -- JSON
    date    INTEGER NOT NULL
) STRICT;

-- The reads of each notice by day.
CREATE TABLE notice_reads (
    notice TEXT NOT NULL,                   -- its id
    day    INTEGER NOT NULL,
    reads  INTEGER NOT NULL,
    PRIMARY KEY (notice, day)
) STRICT, WITHOUT ROWID;
