-- When the session gave a code of the second factor; NULL if it was opened with the password alone.
ALTER TABLE session ADD COLUMN otp bigint;
-- Tokens without a session that were signed before this time are revoked. Set by each change of the second factor.
ALTER TABLE member ADD COLUMN sessions_from bigint;
-- When the secret was made with an enrolment code; NULL if it was made without.
ALTER TABLE second_factor ADD COLUMN admitted bigint;

-- The codes with which members may set up a second factor where one is required: the latest of each member.
CREATE TABLE enrolment_code (
    member  bigint PRIMARY KEY,
    hash    text COLLATE "C" NOT NULL, -- SHA-256, hexadecimal
    expires bigint NOT NULL
);

-- Where members signed in during the last 30 days. A place is a hash of an address and its member, keyed with the
-- signing key of tokens, which is not in the database.
CREATE TABLE sign_in_place (
    member bigint NOT NULL,
    place  text COLLATE "C" NOT NULL,
    date   bigint NOT NULL, -- of the latest sign-in
    PRIMARY KEY (member, place)
);
CREATE INDEX sign_in_place_date ON sign_in_place (date);
