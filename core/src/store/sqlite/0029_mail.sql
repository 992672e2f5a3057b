-- The address of a member, and one that waits for its confirmation.
CREATE TABLE member_email (
    member    INTEGER PRIMARY KEY,
    address   TEXT,                       -- confirmed
    folded    TEXT UNIQUE,                -- the address, as addresses are compared
    confirmed INTEGER,
    pending   TEXT,
    link      TEXT UNIQUE,                -- SHA-256 of the code in the link, hexadecimal
    code      TEXT,                       -- SHA-256 of the link's hash and the six digits, hexadecimal
    wrong     INTEGER NOT NULL DEFAULT 0, -- wrong codes of six digits
    expires   INTEGER
) STRICT;

-- Mail that waits to be sent, or was given up. It is written when it is sent, so no code is stored.
CREATE TABLE mail (
    key          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    kind         TEXT NOT NULL,
    member       INTEGER,
    address      TEXT,                    -- of the recipient, unless it is looked up
    asked        TEXT,                    -- what a guest has typed: an id or an address, folded
    date         INTEGER NOT NULL,
    attempts     INTEGER NOT NULL DEFAULT 0,
    next_attempt INTEGER NOT NULL,
    dead         INTEGER,
    last_error   TEXT
) STRICT;
CREATE INDEX mail_due ON mail (next_attempt) WHERE dead IS NULL;
CREATE INDEX mail_dead ON mail (dead) WHERE dead IS NOT NULL;
CREATE INDEX mail_member ON mail (member);

-- How often mail was asked for since a time, by what it was asked for: hashes of accounts, addresses and networks.
CREATE TABLE mail_limit (
    subject TEXT PRIMARY KEY,
    since   INTEGER NOT NULL,
    count   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX mail_limit_since ON mail_limit (since);
