-- By which rules the tokens of a post were made: 0 by those of earlier programs, 1 or 2 by the present ones. The program
-- makes the tokens of posts with 0 again.
ALTER TABLE post ADD COLUMN tokenizer bigint NOT NULL DEFAULT 0;
CREATE INDEX post_outdated ON post (tokenizer, key) WHERE tokenizer = 0;

-- A program that knows the column changes it between 1 and 2 whenever it changes the tokens. One that leaves it is an earlier
-- program, which may run beside this one during an upgrade.
CREATE FUNCTION mark_outdated_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.tokenizer = OLD.tokenizer THEN
        NEW.tokenizer := 0;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER mark_outdated_tokens BEFORE UPDATE OF token ON post FOR EACH ROW EXECUTE FUNCTION mark_outdated_tokens();
