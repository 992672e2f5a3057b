-- The index has the terms of sections of posts. The program fills the table from the posts again, newest first.
TRUNCATE post_terms;
