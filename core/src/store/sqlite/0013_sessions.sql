-- The sign-ins of members whose tokens have not expired. A token names its session; without the row it fails.
CREATE TABLE session (
    id        TEXT PRIMARY KEY,             -- public, as 24 hexadecimal digits
    member    INTEGER NOT NULL,
    device    TEXT NOT NULL,                -- the family of the program, such as Firefox on Linux
    date      INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,             -- at most an hour late
    expires   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_member ON session (member, last_seen);
CREATE INDEX session_expires ON session (expires);

-- The second factor of members: time-based one-time passwords (RFC 6238).
CREATE TABLE second_factor (
    member    INTEGER PRIMARY KEY,
    secret    TEXT NOT NULL,              -- in base 32
    enabled   INTEGER,                      -- since when; null until the member has shown a code
    last_step INTEGER NOT NULL              -- the step of the last code that was used: each works once
) STRICT;
CREATE TABLE recovery_code (
    member INTEGER NOT NULL,
    hash   TEXT NOT NULL,                   -- SHA-256, hexadecimal
    PRIMARY KEY (member, hash)
) STRICT, WITHOUT ROWID;
