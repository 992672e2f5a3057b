-- What administrators, operators and API keys have done. A record is never changed; each hash covers the one before.
CREATE TABLE audit (
    seq            bigint PRIMARY KEY, -- without gaps
    date           bigint NOT NULL,
    surface        text NOT NULL,
    actor          text NOT NULL, -- operator, member, key or service
    actor_name     text,
    actor_member   bigint, -- key of the member
    actor_proof    text, -- salted hash of the member's id
    action         text NOT NULL,
    subject        text,
    subject_member bigint,
    subject_proof  text,
    old_value      text,
    new_value      text,
    hash           text NOT NULL
);
CREATE INDEX audit_subject_member ON audit (subject_member, seq) WHERE subject_member IS NOT NULL;
CREATE INDEX audit_actor_member ON audit (actor_member, seq) WHERE actor_member IS NOT NULL;
CREATE INDEX audit_date ON audit (date);

-- The last removed record and the latest one.
CREATE TABLE audit_chain (
    one          bigint PRIMARY KEY,
    removed_seq  bigint NOT NULL,
    removed_hash text NOT NULL,
    head_seq     bigint NOT NULL,
    head_hash    text NOT NULL
);
INSERT INTO audit_chain VALUES (1, 0, repeat('0', 64), 0, repeat('0', 64));

-- The salts of the hashes of ids. A salt is deleted with its member, so that a hash no longer shows whose id it was.
CREATE TABLE audit_identity (
    member bigint PRIMARY KEY,
    salt   text NOT NULL
);

-- Keys of programs that administer.
CREATE TABLE api_key (
    id        text PRIMARY KEY, -- public
    name      text NOT NULL UNIQUE,
    hash      text NOT NULL UNIQUE, -- SHA-256 of the key, hexadecimal
    scopes    text NOT NULL, -- names, separated by spaces
    date      bigint NOT NULL,
    expires   bigint,
    last_used bigint
);
