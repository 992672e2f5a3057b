-- The codes with which members who have forgotten their password choose a new one: the latest of each member.
CREATE TABLE reset_code (
    member  INTEGER PRIMARY KEY,
    hash    TEXT NOT NULL UNIQUE, -- SHA-256, hexadecimal
    expires INTEGER NOT NULL
) STRICT;
