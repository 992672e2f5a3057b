-- The hubs that sources name, and the subscriptions there.
CREATE TABLE source_hub (
    source           INTEGER PRIMARY KEY REFERENCES source ON DELETE CASCADE,
    hub              TEXT NOT NULL,    -- the address of the hub
    topic            TEXT NOT NULL,    -- the address by which the hub knows the feed
    token            TEXT UNIQUE,      -- the end of the address to which the hub sends; NULL before it is asked
    secret           TEXT,             -- the key with which the hub signs
    subscribed_until INTEGER,          -- NULL unless the hub has confirmed the subscription
    next_request     INTEGER NOT NULL  -- when the hub is asked next
) STRICT;
CREATE INDEX source_hub_next_request ON source_hub (next_request);
