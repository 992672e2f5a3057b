-- Invitations, with whose codes people sign up.
CREATE TABLE invitation (
    id      text COLLATE "C" PRIMARY KEY,     -- public
    hash    text COLLATE "C" NOT NULL UNIQUE, -- SHA-256 of the code, hexadecimal
    member  bigint,                           -- key of the administrator who made it; NULL if the operator did
    uses    bigint NOT NULL,                  -- how often it still works
    scopes  text COLLATE "C",                 -- of the role that new members get, separated by blanks; NULL for none
    note    text COLLATE "C",
    date    bigint NOT NULL,
    expires bigint NOT NULL
);
CREATE INDEX invitation_member ON invitation (member, id);
