-- The sign-ins of members whose tokens have not expired. A token names its session; without the row it fails.
CREATE TABLE session (
    id        text PRIMARY KEY, -- public, as 24 hexadecimal digits
    member    bigint NOT NULL,
    device    text NOT NULL, -- the family of the program, such as Firefox on Linux
    date      bigint NOT NULL,
    last_seen bigint NOT NULL, -- at most an hour late
    expires   bigint NOT NULL
);
CREATE INDEX session_member ON session (member, last_seen);
CREATE INDEX session_expires ON session (expires);

-- The second factor of members: time-based one-time passwords (RFC 6238).
CREATE TABLE second_factor (
    member    bigint PRIMARY KEY,
    secret    text NOT NULL, -- in base 32
    enabled   bigint, -- since when; null until the member has shown a code
    last_step bigint NOT NULL -- the step of the last code that was used: each works once
);
CREATE TABLE recovery_code (
    member bigint NOT NULL,
    hash   text NOT NULL, -- SHA-256, hexadecimal
    PRIMARY KEY (member, hash)
);
