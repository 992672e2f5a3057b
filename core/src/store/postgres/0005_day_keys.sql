-- A table in whose file an emptied key does not stay, nor anywhere else. ANALYZE copies values of columns into a table whose
-- changes are in the write-ahead log, so there are no statistics of the secrets; vacuuming has nothing to do, because the
-- program empties the table. The table is a new one, to which no earlier statistics belong.
CREATE UNLOGGED TABLE new_day_key (
    slot   bigint,
    day    bigint NOT NULL,
    secret text COLLATE "C" NOT NULL,
    CONSTRAINT day_key_slot PRIMARY KEY (slot)
) WITH (autovacuum_enabled = false);
ALTER TABLE new_day_key ALTER COLUMN secret SET STATISTICS 0;
INSERT INTO new_day_key (slot, day, secret) SELECT slot, day, secret FROM day_key;
DROP TABLE day_key;
ALTER TABLE new_day_key RENAME TO day_key;
