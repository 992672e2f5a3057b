-- Times are milliseconds since 1970, UTC. A key is the store's own; an id is what the interface shows.

-- One row: the number of the last transaction that wrote. Never goes back, so caches can compare it.
CREATE TABLE revision (one INTEGER PRIMARY KEY CHECK (one = 1), n INTEGER NOT NULL) STRICT;
INSERT INTO revision (one, n) VALUES (1, 0);

-- The revision at which what caches hold last changed.
CREATE TABLE touched (topic TEXT PRIMARY KEY, revision INTEGER NOT NULL) STRICT;

CREATE TABLE member (
    key         INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: log lines and visits keep it
    id          TEXT NOT NULL,              -- as registered
    folded      TEXT NOT NULL UNIQUE,       -- the id in lower case
    password    TEXT NOT NULL,              -- PHC string
    generation  INTEGER NOT NULL,           -- tokens of another one are revoked
    nickname    TEXT NOT NULL,
    auto_login  INTEGER NOT NULL DEFAULT 0,
    name        TEXT,                       -- as the university verified it; null for who never did
    major       TEXT,
    admin       INTEGER,                    -- when granted; null for who is none
    blacklisted INTEGER,                    -- since when; null for who is not
    date        INTEGER NOT NULL,
    measured    INTEGER NOT NULL DEFAULT 0, -- interest counts acts from here on
    acted       INTEGER NOT NULL DEFAULT 0  -- revision of the last act that interest is measured from
) STRICT;
CREATE INDEX member_admin ON member (admin) WHERE admin IS NOT NULL;
CREATE INDEX member_blacklisted ON member (blacklisted) WHERE blacklisted IS NOT NULL;

-- Who the university says its members are.
CREATE TABLE roster (
    folded   TEXT PRIMARY KEY,
    id       TEXT NOT NULL,
    name     TEXT NOT NULL,
    major    TEXT NOT NULL,
    password TEXT NOT NULL
) STRICT;

CREATE TABLE notice (
    key        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    title      TEXT NOT NULL,
    post       TEXT NOT NULL,
    view       INTEGER NOT NULL DEFAULT 0,
    activation INTEGER NOT NULL,
    date       INTEGER NOT NULL
) STRICT;

CREATE TABLE feedback (
    key        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    type       TEXT NOT NULL,
    post       TEXT NOT NULL,
    member     INTEGER REFERENCES member (key) ON DELETE SET NULL, -- null: removed since
    notice     TEXT NOT NULL,               -- its id, '' for none
    activation INTEGER NOT NULL,
    date       INTEGER NOT NULL
) STRICT;
CREATE INDEX feedback_member ON feedback (member);

-- One row: the two lines of an app's front page.
CREATE TABLE main_info (one INTEGER PRIMARY KEY CHECK (one = 1), info_1 TEXT NOT NULL, info_2 TEXT NOT NULL) STRICT;
INSERT INTO main_info (one, info_1, info_2) VALUES (1, '', '');

CREATE TABLE post (
    key      INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: a cache may still hold a removed post
    id       TEXT NOT NULL UNIQUE,
    url      TEXT NOT NULL UNIQUE,
    host     TEXT NOT NULL,                 -- with the port, where the address names one of its own
    title    TEXT NOT NULL,
    img      TEXT NOT NULL,
    topic    TEXT NOT NULL,                 -- JSON list
    tag      TEXT NOT NULL,                 -- JSON list
    keyword  TEXT NOT NULL,                 -- the most telling tokens, most telling first, blanks between
    date     INTEGER NOT NULL,
    end_date INTEGER,
    -- The long ones last, so that reading the others does not read through them.
    token    TEXT NOT NULL,                 -- the distinct tokens of title and text, blanks between
    post     TEXT NOT NULL
) STRICT;
CREATE INDEX post_date ON post (date, id);

-- What acts change of a post; apart from it, so that a like does not rewrite the text.
CREATE TABLE standing (
    post     INTEGER PRIMARY KEY REFERENCES post (key) ON DELETE CASCADE,
    view     INTEGER NOT NULL,
    fav      INTEGER NOT NULL,
    heat     REAL,                          -- log of the decayed sum of acts; null when there are none
    revision INTEGER NOT NULL               -- when the post or its standing last changed
) STRICT;
CREATE INDEX standing_revision ON standing (revision);

-- One row, once the program has opened the database: the half-life that every heat is made with.
CREATE TABLE decay (one INTEGER PRIMARY KEY CHECK (one = 1), half_life_days REAL NOT NULL) STRICT;

-- Posts that are gone, so that a cache can let them go without reading all that are left.
CREATE TABLE removed_post (post INTEGER PRIMARY KEY, revision INTEGER NOT NULL) STRICT;
CREATE INDEX removed_post_revision ON removed_post (revision);

-- The topics and tags of posts: what a topic feed and a search within a category look in.
CREATE TABLE label (
    name  TEXT NOT NULL,
    post  INTEGER NOT NULL REFERENCES post (key) ON DELETE CASCADE,
    topic INTEGER NOT NULL,                 -- 1: it is a topic of the post, 0: a tag only
    PRIMARY KEY (name, post)
) STRICT, WITHOUT ROWID;
CREATE INDEX label_post ON label (post);

-- How many posts have the topic, kept as posts come and go.
CREATE TABLE category (name TEXT PRIMARY KEY, posts INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- The search index over the tokens. It is handed tokens with blanks between, so everything else is one.
CREATE VIRTUAL TABLE post_index USING fts5 (
    title, post, content = '', contentless_delete = 1,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'"
);

-- What members liked and viewed. Rows of a post that is removed stay behind, unseen, as its key is never given
-- again: an index to find them by would cost every like another page to write.
CREATE TABLE liked (
    member INTEGER NOT NULL REFERENCES member (key) ON DELETE CASCADE,
    post   INTEGER NOT NULL,
    date   INTEGER NOT NULL,
    PRIMARY KEY (member, post)
) STRICT, WITHOUT ROWID;
CREATE INDEX liked_date ON liked (member, date);

CREATE TABLE viewed (
    member INTEGER NOT NULL REFERENCES member (key) ON DELETE CASCADE,
    post   INTEGER NOT NULL,
    date   INTEGER NOT NULL,
    PRIMARY KEY (member, post)
) STRICT, WITHOUT ROWID;
CREATE INDEX viewed_date ON viewed (member, date);

CREATE TABLE searched (
    key      INTEGER PRIMARY KEY,
    member   INTEGER NOT NULL REFERENCES member (key) ON DELETE CASCADE,
    original TEXT NOT NULL,
    token    TEXT NOT NULL,                 -- tokens, blanks between
    similar  TEXT NOT NULL,                 -- the similar words used, blanks between
    date     INTEGER NOT NULL
) STRICT;
CREATE INDEX searched_date ON searched (member, date);

CREATE TABLE opened (
    key      INTEGER PRIMARY KEY,
    member   INTEGER NOT NULL REFERENCES member (key) ON DELETE CASCADE,
    newsfeed TEXT NOT NULL,
    tag      TEXT NOT NULL,                 -- JSON list
    date     INTEGER NOT NULL
) STRICT;
CREATE INDEX opened_date ON opened (member, date);

-- Every search by anybody: what real-time terms are counted from.
CREATE TABLE term (
    key     INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: who follows the searches goes by it
    term    TEXT NOT NULL,
    visitor INTEGER NOT NULL,               -- as in the table of visitors; 0: nobody in particular
    date    INTEGER NOT NULL
) STRICT;
CREATE INDEX term_date ON term (date);
