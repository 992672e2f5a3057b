-- The schema of an SQLite database, version 31. Steps follow it until the first release, when they are folded in.

-- One row: the number of the last transaction that wrote. Never goes back, so caches can compare it.
CREATE TABLE revision (one INTEGER PRIMARY KEY CHECK (one = 1), n INTEGER NOT NULL) STRICT;
INSERT INTO revision (one, n) VALUES (1, 0);

-- The revision at which what caches hold last changed.
CREATE TABLE touched (topic TEXT PRIMARY KEY, revision INTEGER NOT NULL) STRICT;

CREATE TABLE member (
    key            INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: log lines and visits keep it
    id             TEXT NOT NULL,                     -- as registered
    folded         TEXT NOT NULL UNIQUE,              -- the id in lower case
    password       TEXT NOT NULL,                     -- PHC string
    generation     INTEGER NOT NULL,                  -- tokens of another one are revoked
    nickname       TEXT NOT NULL,
    auto_login     INTEGER NOT NULL DEFAULT 0,
    name           TEXT,                              -- as the university verified it; null for who never did
    major          TEXT,
    admin          INTEGER,                           -- when granted; null for who is none
    blacklisted    INTEGER,                           -- since when; null for who is not
    date           INTEGER NOT NULL,
    measured_since INTEGER NOT NULL DEFAULT 0,
    sessions_from  INTEGER,
    scopes         TEXT
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
    key           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    title         TEXT NOT NULL,
    post          TEXT NOT NULL,
    view          INTEGER NOT NULL DEFAULT 0,
    activation    INTEGER NOT NULL,
    date          INTEGER NOT NULL,
    visible_from  INTEGER,
    visible_until INTEGER,
    pinned        INTEGER NOT NULL DEFAULT 0,
    topic         TEXT,
    members_only  INTEGER NOT NULL DEFAULT 0,
    announced     INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX notice_unannounced ON notice (visible_from) WHERE announced = 0;

CREATE TABLE feedback (
    key        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    type       TEXT NOT NULL,
    post       TEXT NOT NULL,
    member     INTEGER,       -- null: removed since
    notice     TEXT NOT NULL, -- its id, '' for none
    activation INTEGER NOT NULL,
    date       INTEGER NOT NULL,
    done       INTEGER
) STRICT;
CREATE INDEX feedback_member ON feedback (member);
CREATE INDEX feedback_open ON feedback (activation, key) WHERE activation = 1;
CREATE INDEX feedback_done ON feedback (done) WHERE activation = 0;

-- One row: the two lines of an app's front page.
CREATE TABLE main_info (one INTEGER PRIMARY KEY CHECK (one = 1), info_1 TEXT NOT NULL, info_2 TEXT NOT NULL) STRICT;
INSERT INTO main_info (one, info_1, info_2) VALUES (1, '', '');

CREATE TABLE post (
    key       INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: a cache may still hold a removed post
    id        TEXT NOT NULL UNIQUE,
    url       TEXT NOT NULL UNIQUE,
    host      TEXT NOT NULL,                     -- with the port, where the address names one of its own
    title     TEXT NOT NULL,
    img       TEXT NOT NULL,
    topic     TEXT NOT NULL,                     -- JSON list
    tag       TEXT NOT NULL,                     -- JSON list
    keyword   TEXT NOT NULL,                     -- the most telling tokens, most telling first, blanks between
    date      INTEGER NOT NULL,
    end_date  INTEGER,
    -- The long ones last, so that reading the others does not read through them.
    token     TEXT NOT NULL,                     -- the distinct tokens of title and text, blanks between
    post      TEXT NOT NULL,
    tokenizer INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX post_date ON post (date, id);
CREATE INDEX post_outdated ON post (tokenizer) WHERE tokenizer = 0;

-- What acts change of a post; apart from it, so that a like does not rewrite the text.
CREATE TABLE post_stats (
    post    INTEGER PRIMARY KEY REFERENCES post (key) ON DELETE CASCADE,
    view    INTEGER NOT NULL,
    fav     INTEGER NOT NULL,
    heat    REAL,
    heat_0  REAL,
    heat_1  REAL,
    heat_2  REAL,
    heat_3  REAL,
    heat_4  REAL,
    heat_5  REAL,
    heat_6  REAL,
    heat_7  REAL,
    heat_8  REAL,
    heat_9  REAL,
    heat_10 REAL,
    heat_11 REAL
) STRICT;
CREATE INDEX post_stats_unconverted ON post_stats (post) WHERE heat IS NOT NULL;

-- One row, once the program has opened the database: the half-life that every heat is made with.
CREATE TABLE decay (one INTEGER PRIMARY KEY CHECK (one = 1), half_life_days REAL NOT NULL) STRICT;

-- Posts that are gone, so that a cache can let them go without reading all that are left.
CREATE TABLE removed_post (post INTEGER PRIMARY KEY, revision INTEGER NOT NULL) STRICT;
CREATE INDEX removed_post_revision ON removed_post (revision);

-- The topics and tags of posts: what a topic feed and a search within a category look in.
CREATE TABLE label (
    name  TEXT NOT NULL,
    post  INTEGER NOT NULL REFERENCES post (key) ON DELETE CASCADE,
    topic INTEGER NOT NULL, -- 1: it is a topic of the post, 0: a tag only
    PRIMARY KEY (name, post)
) STRICT, WITHOUT ROWID;
CREATE INDEX label_post ON label (post);

-- How many posts have the topic, kept as posts come and go.
CREATE TABLE category (name TEXT PRIMARY KEY, posts INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- What members liked and viewed. Rows of a post that is removed stay behind, unseen, as its key is never given
-- again: an index to find them by would cost every like another page to write.
CREATE TABLE settled_like (
    member INTEGER NOT NULL,
    post   INTEGER NOT NULL,
    date   INTEGER NOT NULL,
    PRIMARY KEY (member, post)
) STRICT, WITHOUT ROWID;
CREATE INDEX liked_date ON settled_like (member, date);

CREATE TABLE viewed (
    member INTEGER NOT NULL,
    post   INTEGER NOT NULL,
    date   INTEGER NOT NULL,
    PRIMARY KEY (member, post)
) STRICT, WITHOUT ROWID;
CREATE INDEX viewed_date ON viewed (member, date);

CREATE TABLE searched (
    key           INTEGER PRIMARY KEY,
    member        INTEGER NOT NULL,
    original      TEXT NOT NULL,
    token         TEXT NOT NULL, -- tokens, blanks between
    similar_words TEXT NOT NULL, -- the similar words used, blanks between
    date          INTEGER NOT NULL
) STRICT;
CREATE INDEX searched_date ON searched (member, date);

CREATE TABLE opened (
    key      INTEGER PRIMARY KEY,
    member   INTEGER NOT NULL,
    newsfeed TEXT NOT NULL,
    tag      TEXT NOT NULL, -- JSON list
    date     INTEGER NOT NULL
) STRICT;
CREATE INDEX opened_date ON opened (member, date);

-- The time zone whose days and hours everything below is counted by; no row: UTC. It stays once a day is counted.
CREATE TABLE zone (one INTEGER PRIMARY KEY CHECK (one = 1), name TEXT NOT NULL) STRICT;

-- What happened on a day, and all in all. Days are numbered from 1970-01-01, counters by the program.
CREATE TABLE day_count (
    day     INTEGER NOT NULL,
    counter INTEGER NOT NULL,
    n       INTEGER NOT NULL,
    PRIMARY KEY (day, counter)
) STRICT, WITHOUT ROWID;
CREATE INDEX day_count_visitor ON day_count (n) WHERE counter = 1;

CREATE TABLE total_count (counter INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT;
INSERT INTO total_count (counter, n) VALUES (12, 0);

-- Who visited on a day: a member's key, or of a guest a number below 0 that means nothing once the day's key is
-- gone. Guests are deleted then; members stay, with their visits, also those who have been removed.
CREATE TABLE visitor (
    day     INTEGER NOT NULL,
    visitor INTEGER NOT NULL,
    visits  INTEGER NOT NULL,
    hours   INTEGER NOT NULL, -- a bit for each hour in which they were there
    seen    INTEGER NOT NULL, -- the latest request
    PRIMARY KEY (day, visitor)
) STRICT, WITHOUT ROWID;

-- The keys that guests are told apart with, of today and tomorrow, in turn.
CREATE TABLE day_key (slot INTEGER PRIMARY KEY, day INTEGER NOT NULL, secret TEXT NOT NULL) STRICT;

-- What the access log says was asked and answered, each once.
CREATE TABLE request (
    key          INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: caches hold it
    method       TEXT NOT NULL,
    path         TEXT NOT NULL,                     -- where it names a member, with a blank for the id
    hash         INTEGER NOT NULL,                  -- of the path: a shorter index than the path itself makes
    status       INTEGER NOT NULL,
    named_member INTEGER,                           -- the key of the member whom the path names
    used         INTEGER NOT NULL,                  -- the day of the latest line
    result       TEXT
) STRICT;
CREATE INDEX request_hash ON request (hash);
CREATE INDEX request_used ON request (used);

-- The access log. A line's key is its time, times 2^14, and a number within the millisecond: the log is in the
-- order of time without an index.
CREATE TABLE log (
    key          INTEGER PRIMARY KEY,
    member       INTEGER NOT NULL, -- 0: a guest; -1: removed since, as is a key that no member has
    request      INTEGER NOT NULL,
    path         TEXT,
    named_member INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX log_member ON log (member, key, request);

-- Members whose log lines are still to be made nobody's.
CREATE TABLE removed_member (key INTEGER PRIMARY KEY) STRICT;

-- Acts that members brought along from another system, so that each counts once however often it is imported.
CREATE TABLE moved_act (
    member INTEGER NOT NULL,
    date   INTEGER NOT NULL,
    act    INTEGER NOT NULL, -- twice the key of a post, plus 1 for a like; below 0: a hash of what
                                            -- was searched, or of the newsfeed's name
    PRIMARY KEY (member, date, act)
) STRICT, WITHOUT ROWID;

-- One row: the key of the hash that requests are found by (request.hash), so that nobody can make paths which share
-- one. Requests of earlier versions have a hash without a key: no path finds them any more, and they go when no line
-- of the log has been theirs for as long as lines are kept.
CREATE TABLE path_key (one INTEGER PRIMARY KEY CHECK (one = 1), secret TEXT NOT NULL) STRICT;
INSERT INTO path_key (one, secret) VALUES (1, lower(hex(randomblob(16))));

CREATE TABLE recent_like (
    member INTEGER NOT NULL,
    post   INTEGER NOT NULL,
    date   INTEGER NOT NULL,
    PRIMARY KEY (member, post)
) STRICT, WITHOUT ROWID;

CREATE VIEW liked (member, post, date) AS
    SELECT member, post, date FROM settled_like UNION ALL SELECT member, post, date FROM recent_like;

-- The revision of the last change to the acts that a member's interest is computed from.
CREATE TABLE member_acts (
    member   INTEGER PRIMARY KEY,
    revision INTEGER NOT NULL
) STRICT;

-- The posts that changed, in the order of the changes, for caches. Only the latest changes stay.
CREATE TABLE post_change (
    revision INTEGER NOT NULL,
    post     INTEGER NOT NULL,
    PRIMARY KEY (revision, post)
) STRICT, WITHOUT ROWID;
INSERT INTO post_change (revision, post) VALUES (0, 0);

CREATE TABLE term (
    revision INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    term     TEXT NOT NULL,
    visitor  INTEGER NOT NULL, -- as in the table of visitors; 0: nobody in particular
    date     INTEGER NOT NULL,
    PRIMARY KEY (revision, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX term_date ON term (date);

-- The posts that members have hidden from their recommended feeds. Few are hidden, so an index finds those of a post that is
-- removed.
CREATE TABLE hidden (
    member INTEGER NOT NULL,
    post   INTEGER NOT NULL,
    date   INTEGER NOT NULL,
    PRIMARY KEY (member, post)
) STRICT, WITHOUT ROWID;
CREATE INDEX hidden_date ON hidden (member, date);
CREATE INDEX hidden_post ON hidden (post);

-- The weights of the recommended feed: those learned from the acts of the members, and those that an operator pinned.
CREATE TABLE feed_weights (
    origin  TEXT PRIMARY KEY,
    content TEXT NOT NULL -- JSON
) STRICT, WITHOUT ROWID;

-- What administrators, operators and API keys have done. A record is never changed; each hash covers the one before.
CREATE TABLE audit (
    seq            INTEGER PRIMARY KEY, -- without gaps
    date           INTEGER NOT NULL,
    surface        TEXT NOT NULL,
    actor          TEXT NOT NULL,       -- operator, member, key or service
    actor_name     TEXT,
    actor_member   INTEGER,             -- key of the member
    actor_proof    TEXT,                -- salted hash of the member's id
    action         TEXT NOT NULL,
    subject        TEXT,
    subject_member INTEGER,
    subject_proof  TEXT,
    old_value      TEXT,
    new_value      TEXT,
    hash           TEXT NOT NULL
) STRICT;
CREATE INDEX audit_subject_member ON audit (subject_member, seq) WHERE subject_member IS NOT NULL;
CREATE INDEX audit_actor_member ON audit (actor_member, seq) WHERE actor_member IS NOT NULL;
CREATE INDEX audit_date ON audit (date);

-- The last removed record and the latest one.
CREATE TABLE audit_chain (
    one          INTEGER PRIMARY KEY,
    removed_seq  INTEGER NOT NULL,
    removed_hash TEXT NOT NULL,
    head_seq     INTEGER NOT NULL,
    head_hash    TEXT NOT NULL
) STRICT;
INSERT INTO audit_chain VALUES (1, 0, printf('%064d', 0), 0, printf('%064d', 0));

-- The salts of the hashes of ids. A salt is deleted with its member, so that a hash no longer shows whose id it was.
CREATE TABLE audit_identity (
    member INTEGER PRIMARY KEY,
    salt   TEXT NOT NULL
) STRICT;

-- Keys of programs that administer.
CREATE TABLE api_key (
    id        TEXT PRIMARY KEY,     -- public
    name      TEXT NOT NULL UNIQUE,
    hash      TEXT NOT NULL UNIQUE, -- SHA-256 of the key, hexadecimal
    scopes    TEXT NOT NULL,        -- names, separated by spaces
    date      INTEGER NOT NULL,
    expires   INTEGER,
    last_used INTEGER
) STRICT, WITHOUT ROWID;

-- The sign-ins of members whose tokens have not expired. A token names its session; without the row it fails.
CREATE TABLE session (
    id        TEXT PRIMARY KEY, -- public, as 24 hexadecimal digits
    member    INTEGER NOT NULL,
    device    TEXT NOT NULL,    -- the family of the program, such as Firefox on Linux
    date      INTEGER NOT NULL,
    last_seen INTEGER NOT NULL, -- at most an hour late
    expires   INTEGER NOT NULL,
    otp       INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX session_member ON session (member, last_seen);
CREATE INDEX session_expires ON session (expires);

-- The second factor of members: time-based one-time passwords (RFC 6238).
CREATE TABLE second_factor (
    member    INTEGER PRIMARY KEY,
    secret    TEXT NOT NULL,    -- in base 32
    enabled   INTEGER,          -- since when; null until the member has shown a code
    last_step INTEGER NOT NULL, -- the step of the last code that was used: each works once
    admitted  INTEGER
) STRICT;

CREATE TABLE recovery_code (
    member INTEGER NOT NULL,
    hash   TEXT NOT NULL, -- SHA-256, hexadecimal
    PRIMARY KEY (member, hash)
) STRICT, WITHOUT ROWID;

-- Drafts of administrators. A draft may change a notice, which may have been removed.
CREATE TABLE notice_draft (
    key     INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    notice  TEXT,          -- its id
    content TEXT NOT NULL, -- JSON
    date    INTEGER NOT NULL
) STRICT;

-- The reads of each notice by day.
CREATE TABLE notice_reads (
    notice TEXT NOT NULL, -- its id
    day    INTEGER NOT NULL,
    reads  INTEGER NOT NULL,
    PRIMARY KEY (notice, day)
) STRICT, WITHOUT ROWID;

-- Other systems that are told about notices and feedback.
CREATE TABLE webhook (
    id         TEXT NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    url        TEXT NOT NULL,
    events     TEXT NOT NULL, -- names separated by spaces
    secret     TEXT NOT NULL,
    old_secret TEXT,          -- also signs until `old_until`
    old_until  INTEGER,
    date       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What they have not accepted yet.
CREATE TABLE webhook_delivery (
    key          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE, -- the same for the same event and webhook
    webhook      TEXT NOT NULL,        -- its id
    event        TEXT NOT NULL,
    subject      TEXT NOT NULL,        -- the id of the notice or the feedback
    body         TEXT,                 -- NULL for feedback, whose author may be removed
    date         INTEGER NOT NULL,
    attempts     INTEGER NOT NULL DEFAULT 0,
    next_attempt INTEGER NOT NULL,
    last_error   TEXT,
    dead         INTEGER               -- when it was given up
) STRICT;
CREATE INDEX webhook_delivery_pending ON webhook_delivery (webhook, next_attempt) WHERE dead IS NULL;
CREATE INDEX webhook_delivery_dead ON webhook_delivery (webhook, key) WHERE dead IS NOT NULL;

-- The names of API keys in the access log, whose lines have -1 minus the number as their member. A revoked key keeps its name.
CREATE TABLE logged_key (
    number INTEGER NOT NULL PRIMARY KEY,
    name   TEXT NOT NULL UNIQUE
) STRICT;

-- The codes with which members may set up a second factor where one is required: the latest of each member.
CREATE TABLE enrolment_code (
    member  INTEGER PRIMARY KEY,
    hash    TEXT NOT NULL, -- SHA-256, hexadecimal
    expires INTEGER NOT NULL
) STRICT;

-- Where members signed in during the last 30 days. A place is a hash of an address and its member, keyed with the
-- signing key of tokens, which is not in the database.
CREATE TABLE sign_in_place (
    member INTEGER NOT NULL,
    place  TEXT NOT NULL,
    date   INTEGER NOT NULL, -- of the latest sign-in
    PRIMARY KEY (member, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_in_place_date ON sign_in_place (date);

-- Later time zones: the days from a date on are those of this zone. The zone of the first days is in `zone`.
CREATE TABLE zone_change (date INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;

-- The terms by which posts are found, separated by blanks.
CREATE VIRTUAL TABLE post_index USING fts5 (
    terms, content = '', contentless_delete = 1, detail = none,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'"
);

-- What the rank of a post is computed from.
CREATE TABLE post_terms (
    post     INTEGER PRIMARY KEY,
    date     INTEGER NOT NULL,
    end_date INTEGER,
    counts   BLOB NOT NULL -- how often the post has each term, packed by the program
) STRICT;

-- Feeds that the service reads by itself.
CREATE TABLE source (
    key           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    url           TEXT NOT NULL UNIQUE,
    name          TEXT NOT NULL,    -- '' for the title of the feed
    title         TEXT NOT NULL,    -- as the feed names itself
    home          TEXT,             -- the address of its page for people
    topic         TEXT NOT NULL,    -- JSON lists: the topics and tags of its posts
    tag           TEXT NOT NULL,
    every         INTEGER,          -- milliseconds between two fetches; NULL adapts
    state         INTEGER NOT NULL, -- 0 active, 1 paused, 2 ended
    date          INTEGER NOT NULL,
    posts         INTEGER NOT NULL, -- the number of posts that it has brought
    wait          INTEGER NOT NULL, -- the milliseconds between two fetches that it has now
    next_fetch    INTEGER,          -- NULL unless active
    last_fetch    INTEGER,
    last_success  INTEGER,
    last_news     INTEGER,
    failures      INTEGER NOT NULL, -- since the last success
    failing_since INTEGER,
    told          INTEGER NOT NULL, -- whether webhooks were told that it fails
    error         TEXT,
    etag          TEXT,
    modified      TEXT,
    moved_to      TEXT,
    moved_since   INTEGER,
    ttl           INTEGER,          -- milliseconds for which the content is good, as it says
    skip_hours    TEXT NOT NULL,    -- hours in UTC in which it does not change, separated by blanks
    seen          TEXT NOT NULL     -- the entries of its last content, packed by the program
) STRICT;
CREATE INDEX source_next_fetch ON source (next_fetch) WHERE next_fetch IS NOT NULL;

-- The source of a post.
CREATE TABLE post_source (
    post   INTEGER PRIMARY KEY REFERENCES post ON DELETE CASCADE,
    source INTEGER NOT NULL REFERENCES source ON DELETE CASCADE
) STRICT;
CREATE INDEX post_source_source ON post_source (source, post);

-- The hubs that sources name, and the subscriptions there.
CREATE TABLE source_hub (
    source           INTEGER PRIMARY KEY REFERENCES source ON DELETE CASCADE,
    hub              TEXT NOT NULL,   -- the address of the hub
    topic            TEXT NOT NULL,   -- the address by which the hub knows the feed
    token            TEXT UNIQUE,     -- the end of the address to which the hub sends; NULL before it is asked
    secret           TEXT,            -- the key with which the hub signs
    subscribed_until INTEGER,         -- NULL unless the hub has confirmed the subscription
    next_request     INTEGER NOT NULL -- when the hub is asked next
) STRICT;
CREATE INDEX source_hub_next_request ON source_hub (next_request);

-- The codes with which members who have forgotten their password choose a new one: the latest of each member.
CREATE TABLE reset_code (
    member  INTEGER PRIMARY KEY,
    hash    TEXT NOT NULL UNIQUE, -- SHA-256, hexadecimal
    expires INTEGER NOT NULL
) STRICT;

-- Invitations, with whose codes people sign up.
CREATE TABLE invitation (
    id      TEXT PRIMARY KEY,     -- public
    hash    TEXT NOT NULL UNIQUE, -- SHA-256 of the code, hexadecimal
    member  INTEGER,              -- key of the administrator who made it; NULL if the operator did
    uses    INTEGER NOT NULL,     -- how often it still works
    scopes  TEXT,                 -- of the role that new members get, separated by blanks; NULL for none
    note    TEXT,
    date    INTEGER NOT NULL,
    expires INTEGER NOT NULL
) STRICT;
CREATE INDEX invitation_member ON invitation (member, id);

-- The address of a member, and one that waits for its confirmation.
CREATE TABLE member_email (
    member    INTEGER PRIMARY KEY,
    address   TEXT,                       -- confirmed
    folded    TEXT UNIQUE,                -- the address, as addresses are compared
    confirmed INTEGER,
    pending   TEXT,
    link      TEXT UNIQUE,                -- SHA-256 of the code in the link, hexadecimal
    code      TEXT,                       -- SHA-256 of the link's hash and the six digits, hexadecimal
    wrong     INTEGER NOT NULL DEFAULT 0, -- wrong codes of six digits
    expires   INTEGER
) STRICT;

-- Mail that waits to be sent, or was given up. It is written when it is sent, so no code is stored.
CREATE TABLE mail (
    key          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    kind         TEXT NOT NULL,
    member       INTEGER,
    address      TEXT, -- of the recipient, unless it is looked up
    asked        TEXT, -- what a guest has typed: an id or an address, folded
    date         INTEGER NOT NULL,
    attempts     INTEGER NOT NULL DEFAULT 0,
    next_attempt INTEGER NOT NULL,
    dead         INTEGER,
    last_error   TEXT
) STRICT;
CREATE INDEX mail_due ON mail (next_attempt) WHERE dead IS NULL;
CREATE INDEX mail_dead ON mail (dead) WHERE dead IS NOT NULL;
CREATE INDEX mail_member ON mail (member);

-- How often mail was asked for since a time, by what it was asked for: hashes of accounts, addresses and networks.
CREATE TABLE mail_limit (
    subject TEXT PRIMARY KEY,
    since   INTEGER NOT NULL,
    count   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX mail_limit_since ON mail_limit (since);

-- The people of an issuer of single sign-on who are members.
CREATE TABLE oidc_identity (
    member  INTEGER PRIMARY KEY,
    issuer  TEXT NOT NULL,
    subject TEXT NOT NULL,    -- the issuer's identifier of the person
    date    INTEGER NOT NULL,
    names   INTEGER NOT NULL, -- 1 if the name of the member comes from the issuer
    UNIQUE (issuer, subject)
) STRICT;

-- Single sign-ons that have come back from the issuer.
CREATE TABLE oidc_sign_in (
    state   TEXT PRIMARY KEY, -- of the flow, which comes back once
    code    TEXT UNIQUE,      -- SHA-256 of the code for the app, hexadecimal; NULL after its use
    issuer  TEXT NOT NULL,
    subject TEXT NOT NULL,
    member  INTEGER NOT NULL, -- who signs in, or may link their account
    linked  INTEGER NOT NULL, -- 0 if the account has to be linked first
    expires INTEGER NOT NULL, -- the code
    kept    INTEGER NOT NULL  -- until when the flow could come back again
) STRICT;
CREATE INDEX oidc_sign_in_kept ON oidc_sign_in (kept);
CREATE INDEX oidc_sign_in_member ON oidc_sign_in (member);

-- Passkeys of members: credentials of Web Authentication. What the library encodes is in base 64.
CREATE TABLE passkey (
    credential TEXT PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE, -- public
    member     INTEGER NOT NULL,
    handle     TEXT NOT NULL,        -- the identifier of the member for devices
    name       TEXT NOT NULL,
    public_key TEXT NOT NULL,
    state      TEXT NOT NULL,        -- what the device tells at each sign-in, such as a counter
    gave_code  INTEGER NOT NULL,     -- 1 if it was added with a code of the second factor
    date       INTEGER NOT NULL,
    used       INTEGER
) STRICT;
CREATE INDEX passkey_member ON passkey (member, id);

-- Ceremonies that have ended, which must not end again.
CREATE TABLE passkey_challenge (
    challenge TEXT PRIMARY KEY,
    kept      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX passkey_challenge_kept ON passkey_challenge (kept);
