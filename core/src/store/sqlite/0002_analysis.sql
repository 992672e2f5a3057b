-- The time zone whose days and hours everything below is counted by; no row: UTC. It stays once a day is counted.
CREATE TABLE zone (one INTEGER PRIMARY KEY CHECK (one = 1), name TEXT NOT NULL) STRICT;

-- What happened on a day, and all in all. Days are numbered from 1970-01-01, counters by the program.
CREATE TABLE day_count (
    day     INTEGER NOT NULL,
    counter INTEGER NOT NULL,
    n       INTEGER NOT NULL,
    PRIMARY KEY (day, counter)
) STRICT, WITHOUT ROWID;
-- Visitors alone: the day that had most.
CREATE INDEX day_count_visitor ON day_count (n) WHERE counter = 1;

CREATE TABLE total_count (counter INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT;
-- The posts that are there.
INSERT INTO total_count (counter, n) SELECT 12, count(*) FROM post;

-- Who visited on a day: a member's key, or of a guest a number below 0 that means nothing once the day's key is
-- gone. Guests are deleted then; members stay, with their visits, also those who have been removed.
CREATE TABLE visitor (
    day     INTEGER NOT NULL,
    visitor INTEGER NOT NULL,
    visits  INTEGER NOT NULL,
    hours   INTEGER NOT NULL,               -- a bit for each hour in which they were there
    seen    INTEGER NOT NULL,               -- the latest request
    PRIMARY KEY (day, visitor)
) STRICT, WITHOUT ROWID;

-- The keys that guests are told apart with, of today and tomorrow, in turn.
CREATE TABLE day_key (slot INTEGER PRIMARY KEY, day INTEGER NOT NULL, secret TEXT NOT NULL) STRICT;

-- What the access log says was asked and answered, each once.
CREATE TABLE request (
    key    INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: caches hold it
    method TEXT NOT NULL,
    path   TEXT NOT NULL,                   -- where it names a member, with a blank for the id
    hash   INTEGER NOT NULL,                -- of the path: a shorter index than the path itself makes
    status INTEGER NOT NULL,
    names  INTEGER,                         -- the key of the member whom the path names
    used   INTEGER NOT NULL                 -- the day of the latest line
) STRICT;
CREATE INDEX request_hash ON request (hash);
CREATE INDEX request_used ON request (used);

-- The access log. A line's key is its time, times 2^14, and a number within the millisecond: the log is in the
-- order of time without an index.
CREATE TABLE log (
    key     INTEGER PRIMARY KEY,
    member  INTEGER NOT NULL,               -- 0: a guest; -1: removed since, as is a key that no member has
    request INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Holds all there is to a line, so that a member's are read in one place.
CREATE INDEX log_member ON log (member, key, request);

-- Members whose log lines are still to be made nobody's.
CREATE TABLE removed_member (key INTEGER PRIMARY KEY) STRICT;
