-- Acts change few pages: what one act changes of a post, of a list and of a member is in small tables, whose pages many
-- acts share.

-- Likes wait in recent_like, which stays small, until thousands of them move to settled_like together. A like is in one
-- of both. Reads use the view.
ALTER TABLE liked RENAME TO settled_like;
CREATE TABLE recent_like (
    member INTEGER NOT NULL REFERENCES member (key) ON DELETE CASCADE,
    post   INTEGER NOT NULL,
    date   INTEGER NOT NULL,
    PRIMARY KEY (member, post)
) STRICT, WITHOUT ROWID;
CREATE VIEW liked (member, post, date) AS
    SELECT member, post, date FROM settled_like UNION ALL SELECT member, post, date FROM recent_like;

-- The posts that changed, in the order of the changes, for caches. Only the latest changes stay.
CREATE TABLE post_change (
    key  INTEGER PRIMARY KEY,               -- never reused, as the latest row always stays
    post INTEGER NOT NULL
) STRICT;
INSERT INTO post_change (post) SELECT post FROM post_stats ORDER BY revision DESC LIMIT 1;
DROP INDEX post_stats_revision;
ALTER TABLE post_stats DROP COLUMN revision;

-- The revision of the last change to the acts that a member's interest is computed from.
CREATE TABLE member_acts (
    member   INTEGER PRIMARY KEY REFERENCES member (key) ON DELETE CASCADE,
    revision INTEGER NOT NULL
) STRICT;
INSERT INTO member_acts (member, revision) SELECT key, acts_revision FROM member WHERE acts_revision > 0;
ALTER TABLE member DROP COLUMN acts_revision;
