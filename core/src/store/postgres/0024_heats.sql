-- The logarithms of the decayed sums of a post's acts, for half-lives of 3 days times 2 to the power of -5 to 5, and without
-- decay; null without acts. The program computes them from the single heat with the half-life in `decay`, which is null then.
ALTER TABLE post_stats
    ADD COLUMN heat_0 double precision,
    ADD COLUMN heat_1 double precision,
    ADD COLUMN heat_2 double precision,
    ADD COLUMN heat_3 double precision,
    ADD COLUMN heat_4 double precision,
    ADD COLUMN heat_5 double precision,
    ADD COLUMN heat_6 double precision,
    ADD COLUMN heat_7 double precision,
    ADD COLUMN heat_8 double precision,
    ADD COLUMN heat_9 double precision,
    ADD COLUMN heat_10 double precision,
    ADD COLUMN heat_11 double precision;
CREATE INDEX post_stats_unconverted ON post_stats (post) WHERE heat IS NOT NULL;
