-- The orders of feeds that a server has begun and any server may continue, for minutes. What is lost with the primary
-- can only be begun again, so the table needs no write-ahead log.
CREATE UNLOGGED TABLE feed_order (
    id    bigint PRIMARY KEY,
    feed  bigint NOT NULL,                              -- the kind of the feed, numbered by the program
    owner bigint NOT NULL,                              -- the member or the hash of the topic that the feed is of, or 0
    begun bigint NOT NULL,                              -- the last time at which a caller got the first page
    bytes bigint NOT NULL,                              -- the size of the row
    tail  bigint,                                       -- the order whose keys follow
    keys  text COLLATE "C" NOT NULL,                    -- the keys of the posts, packed by the program
    skip  text COLLATE "C" NOT NULL                     -- the keys of the tail to leave out
) WITH (toast_tuple_target = 256);
CREATE INDEX feed_order_begun ON feed_order (begun);
-- Packed keys do not compress, and compression takes longer than storing them. The rows that are left are small, because all
-- of them are read to sum up their sizes.
ALTER TABLE feed_order ALTER COLUMN keys SET STORAGE EXTERNAL, ALTER COLUMN skip SET STORAGE EXTERNAL;
