-- Invitations, with whose codes people sign up.
CREATE TABLE invitation (
    id      TEXT PRIMARY KEY,     -- public
    hash    TEXT NOT NULL UNIQUE, -- SHA-256 of the code, hexadecimal
    member  INTEGER,              -- key of the administrator who made it; NULL if the operator did
    uses    INTEGER NOT NULL,     -- how often it still works
    scopes  TEXT,                 -- of the role that new members get, separated by blanks; NULL for none
    note    TEXT,
    date    INTEGER NOT NULL,
    expires INTEGER NOT NULL
) STRICT;
CREATE INDEX invitation_member ON invitation (member, id);
