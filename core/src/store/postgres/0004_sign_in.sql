-- The failed sign-ins of accounts and clients, which all servers count together. The number of rows is bounded: a row has
-- the entries of all keys with the same last bits. A key is a keyed hash, so no row names a client or an account. What is
-- lost with the primary makes attackers wait less once, so the table needs no write-ahead log.
CREATE UNLOGGED TABLE sign_in_failure (
    kind    bigint NOT NULL,                            -- 0: of clients, 1: of accounts from clients
    bucket  bigint NOT NULL,
    until   bigint NOT NULL,                            -- the time at which no entry counts any more
    entries text COLLATE "C" NOT NULL,                  -- written and read by the program
    PRIMARY KEY (kind, bucket)
);
CREATE INDEX sign_in_failure_until ON sign_in_failure (until);
