-- Acts that members brought along from another system, so that each counts once however often it is imported.
CREATE TABLE moved_act (
    member INTEGER NOT NULL REFERENCES member (key) ON DELETE CASCADE,
    date   INTEGER NOT NULL,
    act    INTEGER NOT NULL,                -- twice the key of a post, plus 1 for a like; below 0: a hash of what
                                            -- was searched, or of the newsfeed's name
    PRIMARY KEY (member, date, act)
) STRICT, WITHOUT ROWID;
