-- The search index only finds posts, and the program ranks them. It fills the table from the posts, newest first.
DROP TABLE post_segment_block, post_segment, post_index_recent, post_index_size, post_index;

-- The terms by which posts are found, and what their rank is computed from.
CREATE TABLE post_terms (
    post     bigint PRIMARY KEY,
    date     bigint NOT NULL,
    end_date bigint,
    terms    integer[] NOT NULL,            -- hashes of the terms
    counts   bytea NOT NULL                 -- how often the post has each term, packed by the program
);
-- Compression saves little, and reading would take longer; so would reading most entries from another place.
ALTER TABLE post_terms ALTER COLUMN terms SET STORAGE EXTERNAL, ALTER COLUMN counts SET STORAGE EXTERNAL,
    SET (toast_tuple_target = 8160);
CREATE INDEX post_terms_terms ON post_terms USING gin (terms);
