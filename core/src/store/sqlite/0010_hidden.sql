-- The posts that members have hidden from their recommended feeds. Few are hidden, so an index finds those of a post that is
-- removed.
CREATE TABLE hidden (
    member INTEGER NOT NULL,
    post   INTEGER NOT NULL,
    date   INTEGER NOT NULL,
    PRIMARY KEY (member, post)
) STRICT, WITHOUT ROWID;
CREATE INDEX hidden_date ON hidden (member, date);
CREATE INDEX hidden_post ON hidden (post);
