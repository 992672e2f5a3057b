-- The search index only finds posts, and the program ranks them. It fills both tables again from the posts, newest first.
DROP TABLE post_index;

-- The terms by which posts are found, separated by blanks.
CREATE VIRTUAL TABLE post_index USING fts5 (
    terms, content = '', contentless_delete = 1, detail = none,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'"
);

-- What the rank of a post is computed from.
CREATE TABLE post_terms (
    post     INTEGER PRIMARY KEY,
    date     INTEGER NOT NULL,
    end_date INTEGER,
    counts   BLOB NOT NULL                  -- how often the post has each term, packed by the program
) STRICT;
