-- The names of API keys in the access log, whose lines have -1 minus the number as their member. A revoked key keeps its name.
CREATE TABLE logged_key (
    number INTEGER NOT NULL PRIMARY KEY,
    name   TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO logged_key (number, name) SELECT row_number() OVER (ORDER BY name), name FROM api_key;
