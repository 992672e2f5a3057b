-- Passkeys of members: credentials of Web Authentication. What the library encodes is in base 64.
CREATE TABLE passkey (
    credential text COLLATE "C" PRIMARY KEY,
    id         text COLLATE "C" NOT NULL UNIQUE, -- public
    member     bigint NOT NULL,
    handle     text COLLATE "C" NOT NULL,        -- the identifier of the member for devices
    name       text COLLATE "C" NOT NULL,
    public_key text COLLATE "C" NOT NULL,
    state      text COLLATE "C" NOT NULL,        -- what the device tells at each sign-in, such as a counter
    gave_code  bigint NOT NULL,                  -- 1 if it was added with a code of the second factor
    date       bigint NOT NULL,
    used       bigint
);
CREATE INDEX passkey_member ON passkey (member, id);

-- Ceremonies that have ended, which must not end again.
CREATE TABLE passkey_challenge (
    challenge text COLLATE "C" PRIMARY KEY,
    kept      bigint NOT NULL
);
CREATE INDEX passkey_challenge_kept ON passkey_challenge (kept);
