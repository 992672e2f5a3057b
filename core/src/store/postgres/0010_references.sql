-- Labels and the data of a post that acts change refer to the post without a constraint, whose check of every row took a
-- quarter of the time of an import. Their rows are inserted with that of the post or while no other transaction changes
-- posts, and a trigger deletes them with it.
ALTER TABLE label DROP CONSTRAINT label_post_fkey;
ALTER TABLE post_stats DROP CONSTRAINT post_stats_post_fkey;

CREATE FUNCTION delete_rows_of_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM label WHERE post = OLD.key;
    DELETE FROM post_stats WHERE post = OLD.key;
    RETURN NULL;
END
$$;
CREATE TRIGGER delete_rows_of_post AFTER DELETE ON post FOR EACH ROW EXECUTE FUNCTION delete_rows_of_post();
