-- The works that one server does for all. A server leases a row until a time of the primary, and renews the lease.
CREATE TABLE lease (
    name  text COLLATE "C" PRIMARY KEY,
    owner text COLLATE "C" NOT NULL,
    until bigint NOT NULL
) WITH (fillfactor = 50);

-- One row after the first time that a server has learned words: the word model that all servers use.
CREATE TABLE word_model (
    one   bigint PRIMARY KEY CHECK (one = 1),
    model bigint NOT NULL,
    made  bigint NOT NULL
);

-- The parts of word models. Those of a model that is being written, or that was replaced, belong to no row of word_model.
CREATE TABLE word_model_part (
    model bigint NOT NULL,
    part  bigint NOT NULL,
    data  text COLLATE "C" NOT NULL,                    -- bytes of the file of a model, in hexadecimal digits
    PRIMARY KEY (model, part)
);
