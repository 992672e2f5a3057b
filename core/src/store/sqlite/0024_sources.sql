-- Feeds that the service reads by itself.
CREATE TABLE source (
    key           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    url           TEXT NOT NULL UNIQUE,
    name          TEXT NOT NULL,               -- '' for the title of the feed
    title         TEXT NOT NULL,               -- as the feed names itself
    home          TEXT,                        -- the address of its page for people
    topic         TEXT NOT NULL,               -- JSON lists: the topics and tags of its posts
    tag           TEXT NOT NULL,
    every         INTEGER,                     -- milliseconds between two fetches; NULL adapts
    state         INTEGER NOT NULL,            -- 0 active, 1 paused, 2 ended
    date          INTEGER NOT NULL,
    posts         INTEGER NOT NULL,            -- the number of posts that it has brought
    wait          INTEGER NOT NULL,            -- the milliseconds between two fetches that it has now
    next_fetch    INTEGER,                     -- NULL unless active
    last_fetch    INTEGER,
    last_success  INTEGER,
    last_news     INTEGER,
    failures      INTEGER NOT NULL,            -- since the last success
    failing_since INTEGER,
    told          INTEGER NOT NULL,            -- whether webhooks were told that it fails
    error         TEXT,
    etag          TEXT,
    modified      TEXT,
    moved_to      TEXT,
    moved_since   INTEGER,
    ttl           INTEGER,                     -- milliseconds for which the content is good, as it says
    skip_hours    TEXT NOT NULL,               -- hours in UTC in which it does not change, separated by blanks
    seen          TEXT NOT NULL                -- the entries of its last content, packed by the program
) STRICT;
CREATE INDEX source_next_fetch ON source (next_fetch) WHERE next_fetch IS NOT NULL;

-- The source of a post.
CREATE TABLE post_source (
    post   INTEGER PRIMARY KEY REFERENCES post ON DELETE CASCADE,
    source INTEGER NOT NULL REFERENCES source ON DELETE CASCADE
) STRICT;
CREATE INDEX post_source_source ON post_source (source, post);
