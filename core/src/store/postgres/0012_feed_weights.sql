-- The weights of the recommended feed: those learned from the acts of the members, and those that an operator pinned.
CREATE TABLE feed_weights (
    origin  text PRIMARY KEY,
    content text NOT NULL -- JSON
);
