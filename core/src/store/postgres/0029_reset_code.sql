-- The codes with which members who have forgotten their password choose a new one: the latest of each member.
CREATE TABLE reset_code (
    member  bigint PRIMARY KEY,
    hash    text COLLATE "C" NOT NULL UNIQUE, -- SHA-256, hexadecimal
    expires bigint NOT NULL
);
