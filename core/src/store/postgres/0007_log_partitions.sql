-- The access log in partitions by the keys of its lines, which are times. They have no gaps, the first has no lower bound
-- and the last no upper bound, so every line has one. The name of the first has its upper bound, that of others their lower.
-- The program adds partitions ahead of time and drops expired ones.

ALTER TABLE log RENAME TO log_first;
ALTER INDEX log_pkey RENAME TO log_first_pkey;
ALTER INDEX log_member RENAME TO log_first_member_key_idx;

-- The key of a line is its time times 2^14, plus a number within the millisecond. The number is that of the writer's shard
-- times 2^7, plus a number within the shard; older lines do not divide it.
CREATE TABLE log (
    key     bigint PRIMARY KEY,
    member  bigint NOT NULL,                            -- 0: a guest; -1 or the key of no member: a removed member
    request bigint NOT NULL
) PARTITION BY RANGE (key);
CREATE INDEX log_member ON log (member, key);

-- The lines up to now are in the first partition, which ends with a day.
DO $$
DECLARE
    a_day CONSTANT bigint := CAST(86400000 AS bigint) * 16384;
    last  bigint := greatest((SELECT max(key) FROM log_first),
                             CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint) * 16384);
    bound bigint := (last / a_day + 1) * a_day;
BEGIN
    EXECUTE format('ALTER TABLE log ATTACH PARTITION log_first FOR VALUES FROM (MINVALUE) TO (%s)', bound);
    EXECUTE format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%1$s) TO (MAXVALUE)', bound);
END
$$;

-- The greatest key that a shard of the writers has given to a line. A writer locks the row of its shard.
CREATE TABLE log_shard (shard bigint PRIMARY KEY, last bigint NOT NULL) WITH (fillfactor = 10);
