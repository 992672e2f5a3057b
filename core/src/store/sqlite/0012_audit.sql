-- What administrators, operators and API keys have done. A record is never changed; each hash covers the one before.
CREATE TABLE audit (
    seq            INTEGER PRIMARY KEY,     -- without gaps
    date           INTEGER NOT NULL,
    surface        TEXT NOT NULL,
    actor          TEXT NOT NULL,           -- operator, member, key or service
    actor_name     TEXT,
    actor_member   INTEGER,                 -- key of the member
    actor_proof    TEXT,                    -- salted hash of the member's id
    action         TEXT NOT NULL,
    subject        TEXT,
    subject_member INTEGER,
    subject_proof  TEXT,
    old_value      TEXT,
    new_value      TEXT,
    hash           TEXT NOT NULL
) STRICT;
CREATE INDEX audit_subject_member ON audit (subject_member, seq) WHERE subject_member IS NOT NULL;
CREATE INDEX audit_actor_member ON audit (actor_member, seq) WHERE actor_member IS NOT NULL;
CREATE INDEX audit_date ON audit (date);

-- The last removed record and the latest one.
CREATE TABLE audit_chain (
    one          INTEGER PRIMARY KEY,
    removed_seq  INTEGER NOT NULL,
    removed_hash TEXT NOT NULL,
    head_seq     INTEGER NOT NULL,
    head_hash    TEXT NOT NULL
) STRICT;
INSERT INTO audit_chain VALUES (1, 0, printf('%064d', 0), 0, printf('%064d', 0));

-- The salts of the hashes of ids. A salt is deleted with its member, so that a hash no longer shows whose id it was.
CREATE TABLE audit_identity (
    member INTEGER PRIMARY KEY,
    salt   TEXT NOT NULL
) STRICT;

-- Keys of programs that administer.
CREATE TABLE api_key (
    id        TEXT PRIMARY KEY,             -- public
    name      TEXT NOT NULL UNIQUE,
    hash      TEXT NOT NULL UNIQUE,         -- SHA-256 of the key, hexadecimal
    scopes    TEXT NOT NULL,                -- names, separated by spaces
    date      INTEGER NOT NULL,
    expires   INTEGER,
    last_used INTEGER
) STRICT, WITHOUT ROWID;
