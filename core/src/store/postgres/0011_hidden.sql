-- The posts that members have hidden from their recommended feeds. Few are hidden, so an index finds those of a post that is
-- removed.
CREATE TABLE hidden (
    member bigint NOT NULL,
    post   bigint NOT NULL,
    date   bigint NOT NULL,
    PRIMARY KEY (member, post)
);
CREATE INDEX hidden_date ON hidden (member, date);
CREATE INDEX hidden_post ON hidden (post);
