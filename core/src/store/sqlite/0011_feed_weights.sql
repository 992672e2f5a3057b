-- The weights of the recommended feed: those learned from the acts of the members, and those that an operator pinned.
CREATE TABLE feed_weights (
    origin  TEXT PRIMARY KEY,
    content TEXT NOT NULL                   -- JSON
) STRICT, WITHOUT ROWID;
