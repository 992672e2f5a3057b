-- One row: the key of the hash that requests are found by (request.hash), so that nobody can make paths which share
-- one. Requests of earlier versions have a hash without a key: no path finds them any more, and they go when no line
-- of the log has been theirs for as long as lines are kept.
CREATE TABLE path_key (one INTEGER PRIMARY KEY CHECK (one = 1), secret TEXT NOT NULL) STRICT;
INSERT INTO path_key (one, secret) VALUES (1, lower(hex(randomblob(16))));
