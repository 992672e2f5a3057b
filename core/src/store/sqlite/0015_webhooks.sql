-- Other systems that are told about notices and feedback.
CREATE TABLE webhook (
    id         TEXT NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    url        TEXT NOT NULL,
    events     TEXT NOT NULL,               -- names separated by spaces
    secret     TEXT NOT NULL,
    old_secret TEXT,                        -- also signs until `old_until`
    old_until  INTEGER,
    date       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What they have not accepted yet.
CREATE TABLE webhook_delivery (
    key          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,      -- the same for the same event and webhook
    webhook      TEXT NOT NULL,             -- its id
    event        TEXT NOT NULL,
    subject      TEXT NOT NULL,             -- the id of the notice or the feedback
    body         TEXT,                      -- NULL for feedback, whose author may be removed
    date         INTEGER NOT NULL,
    attempts     INTEGER NOT NULL DEFAULT 0,
    next_attempt INTEGER NOT NULL,
    last_error   TEXT,
    dead         INTEGER                    -- when it was given up
) STRICT;
CREATE INDEX webhook_delivery_pending ON webhook_delivery (webhook, next_attempt) WHERE dead IS NULL;
CREATE INDEX webhook_delivery_dead ON webhook_delivery (webhook, key) WHERE dead IS NOT NULL;

-- Whether webhooks were told about the notice.
ALTER TABLE notice ADD COLUMN announced INTEGER NOT NULL DEFAULT 0;
CREATE INDEX notice_unannounced ON notice (visible_from) WHERE announced = 0;
