-- Renames tables and columns whose names mislead, or are keywords in other databases. No data changes.

-- The views, likes and heat of a post.
ALTER TABLE standing RENAME TO post_stats;
DROP INDEX standing_revision;
CREATE INDEX post_stats_revision ON post_stats (revision);

-- A reserved word in PostgreSQL.
ALTER TABLE searched RENAME COLUMN similar TO similar_words;

-- A time, not a flag: interest counts acts from then on.
ALTER TABLE member RENAME COLUMN measured TO measured_since;

-- A revision, not a time: that of the last change to the acts that interest is computed from.
ALTER TABLE member RENAME COLUMN acted TO acts_revision;

-- The key of one member, not a list of names.
ALTER TABLE request RENAME COLUMN names TO named_member;
