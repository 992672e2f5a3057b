-- Removing a member deletes the account at once and the acts afterwards, in small steps: see removed_member. A reference
-- that cascades would delete all acts in one transaction, so acts and feedback have the key of their member without a
-- reference. Keys are never given twice.
--
-- SQLite has no statement that removes a reference. Changing the text of the schema is the documented way, and unlike a
-- copy of the tables it takes the same time in a database of any size:
-- https://www.sqlite.org/lang_altertable.html#making_other_kinds_of_table_schema_changes
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(sql, ' REFERENCES member (key) ON DELETE CASCADE', ''),
                                       ' REFERENCES member (key) ON DELETE SET NULL', '')
WHERE type = 'table';
PRAGMA writable_schema = RESET;

-- Open feedback, newest first, however much is done. It also makes other connections load the changed schema.
CREATE INDEX feedback_open ON feedback (activation, key) WHERE activation = 1;
