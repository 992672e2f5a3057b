-- A line has its own path, if that differs from the template of its request; `request` has operations and answers alone. Where the
-- path names a member, it has a blank for the id, and the line the key of the member. Earlier programs show the template.
ALTER TABLE log ADD COLUMN path text COLLATE "C";
ALTER TABLE log ADD COLUMN named_member bigint;
