-- The search index in segments. The program fills it again from the posts.
DROP TABLE post_index;

-- The entry of each post in the index. A post whose words change gets a new one, which is greater than all before.
CREATE TABLE post_index (
    post   bigint PRIMARY KEY,
    entry  bigint NOT NULL UNIQUE,
    length bigint NOT NULL                              -- the number of tokens, including repetitions
);

ALTER TABLE post_index_size
    ADD COLUMN last_entry bigint NOT NULL DEFAULT 0,    -- the greatest entry that a post ever had
    ADD COLUMN unindexed  bigint;                       -- posts with smaller keys are not in the index yet; usually null
UPDATE post_index_size SET posts = 0, length = 0,
    unindexed = CASE WHEN EXISTS (SELECT FROM post) THEN 9223372036854775807 END;

-- The words of the posts whose entries are greater than those in all segments, packed by the program.
CREATE TABLE post_index_recent (
    entry bigint PRIMARY KEY,
    words bytea NOT NULL
);
-- Compression saves little, and reading would take longer.
ALTER TABLE post_index_recent ALTER COLUMN words SET STORAGE EXTERNAL;

-- The segments. The ranges of entries of those that searches read have no entry in common.
CREATE TABLE post_segment (
    segment     bigint PRIMARY KEY,                     -- a random number
    first_entry bigint NOT NULL,
    last_entry  bigint NOT NULL,
    entries     bigint NOT NULL,                        -- the number of entries in it
    dead        bigint NOT NULL,                        -- how many of these no post has any more
    blocks      bigint NOT NULL,                        -- the number of its blocks
    state       bigint NOT NULL                         -- 0: it is being written, 1: searches read it, 2: it was replaced
) WITH (fillfactor = 50);

-- The words of each segment with their postings, packed by the program. Blocks are never changed. The reference is
-- deferrable, so that a test can make a commit fail.
CREATE TABLE post_segment_block (
    segment    bigint NOT NULL REFERENCES post_segment ON DELETE CASCADE DEFERRABLE,
    first_word text COLLATE "C" NOT NULL,
    part       bigint NOT NULL,
    last_word  text COLLATE "C" NOT NULL,
    data       bytea NOT NULL,
    PRIMARY KEY (segment, first_word, part)
-- Merges delete many blocks, whose space the next merges use if it was vacuumed.
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
-- In the row, of which two fit into a page.
ALTER TABLE post_segment_block ALTER COLUMN data SET STORAGE PLAIN;

-- The texts of posts are compressed several times faster with lz4 than with the default. A server may be built without it.
DO $$
BEGIN
    ALTER TABLE post ALTER COLUMN post SET COMPRESSION lz4, ALTER COLUMN token SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END
$$;
