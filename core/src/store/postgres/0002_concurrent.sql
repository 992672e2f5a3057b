-- Servers write at the same time.

-- Each writer adds to rows of its own, so that transactions do not wait for each other. A counter is the sum of its rows.
ALTER TABLE day_count ADD COLUMN writer bigint NOT NULL DEFAULT 0;
ALTER TABLE day_count DROP CONSTRAINT day_count_pkey, ADD PRIMARY KEY (day, counter, writer);
DROP INDEX day_count_visitor;
CREATE INDEX day_count_visitor ON day_count (day, n) WHERE counter = 1;

ALTER TABLE total_count ADD COLUMN writer bigint NOT NULL DEFAULT 0;
ALTER TABLE total_count DROP CONSTRAINT total_count_pkey, ADD PRIMARY KEY (counter, writer);
