-- The hubs that sources name, and the subscriptions there.
CREATE TABLE source_hub (
    source           bigint PRIMARY KEY REFERENCES source ON DELETE CASCADE,
    hub              text COLLATE "C" NOT NULL, -- the address of the hub
    topic            text COLLATE "C" NOT NULL, -- the address by which the hub knows the feed
    token            text COLLATE "C" UNIQUE,   -- the end of the address to which the hub sends; NULL before it is asked
    secret           text COLLATE "C",          -- the key with which the hub signs
    subscribed_until bigint,                    -- NULL unless the hub has confirmed the subscription
    next_request     bigint NOT NULL            -- when the hub is asked next
);
CREATE INDEX source_hub_next_request ON source_hub (next_request);
