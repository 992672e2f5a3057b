-- What the corrections of accounts, mail, sign-ins and sources store.

-- The right to do work that reaches other machines, such as sending mail, which one of several processes of the file does.
CREATE TABLE lease (
    name  TEXT PRIMARY KEY,
    owner TEXT NOT NULL, -- a random text that names a process
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
