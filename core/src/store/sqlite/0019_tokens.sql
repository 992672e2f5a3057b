-- By which rules the tokens of a post were made: 0 by those of earlier programs, 1 or 2 by the present ones. The program
-- makes the tokens of posts with 0 again.
ALTER TABLE post ADD COLUMN tokenizer INTEGER NOT NULL DEFAULT 0;
CREATE INDEX post_outdated ON post (tokenizer) WHERE tokenizer = 0;
