-- Passkeys of members: credentials of Web Authentication. What the library encodes is in base 64.
CREATE TABLE passkey (
    credential TEXT PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE, -- public
    member     INTEGER NOT NULL,
    handle     TEXT NOT NULL,        -- the identifier of the member for devices
    name       TEXT NOT NULL,
    public_key TEXT NOT NULL,
    state      TEXT NOT NULL,        -- what the device tells at each sign-in, such as a counter
    gave_code  INTEGER NOT NULL,     -- 1 if it was added with a code of the second factor
    date       INTEGER NOT NULL,
    used       INTEGER
) STRICT;
CREATE INDEX passkey_member ON passkey (member, id);

-- Ceremonies that have ended, which must not end again.
CREATE TABLE passkey_challenge (
    challenge TEXT PRIMARY KEY,
    kept      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX passkey_challenge_kept ON passkey_challenge (kept);
