-- One table of the codes of members. Those for new passwords, addresses and second factors, which work for an hour at most, and
-- those of single sign-ons, which work for minutes, end with this step.

CREATE TABLE code (
    key     INTEGER PRIMARY KEY,
    kind    INTEGER NOT NULL,           -- 1, 2: new passwords; 3: addresses; 4: second factors; 5: single sign-ons; 6: steps that
                                        -- were taken, which must not be taken again
    hash    TEXT NOT NULL UNIQUE,       -- SHA-256, hexadecimal; of a step, its name
    member  INTEGER,                    -- NULL for a step
    data    TEXT NOT NULL,              -- of an address, the SHA-256 of the six digits; of a single sign-on, the person as JSON
    wrong   INTEGER NOT NULL DEFAULT 0, -- wrong codes of six digits
    expires INTEGER NOT NULL
) STRICT;
CREATE INDEX code_member ON code (member, key);
CREATE INDEX code_expires ON code (expires);
INSERT INTO code (kind, hash, data, expires)
    SELECT 6, state, '', kept FROM oidc_sign_in UNION ALL SELECT 6, challenge, '', kept FROM passkey_challenge;
DROP TABLE oidc_sign_in;
DROP TABLE passkey_challenge;
DROP TABLE reset_code;
DROP TABLE enrolment_code;

-- SQLite drops no unique column.
CREATE TABLE new_member_email (
    member    INTEGER PRIMARY KEY,
    address   TEXT,        -- confirmed
    folded    TEXT UNIQUE, -- the address, as addresses are compared
    confirmed INTEGER,
    pending   TEXT
) STRICT;
INSERT INTO new_member_email (member, address, folded, confirmed, pending)
    SELECT member, address, folded, confirmed, pending FROM member_email;
DROP TABLE member_email;
ALTER TABLE new_member_email RENAME TO member_email;
