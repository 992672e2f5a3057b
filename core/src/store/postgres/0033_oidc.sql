-- The people of an issuer of single sign-on who are members.
CREATE TABLE oidc_identity (
    member  bigint PRIMARY KEY,
    issuer  text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,  -- the issuer's identifier of the person
    date    bigint NOT NULL,
    names   bigint NOT NULL,              -- 1 if the name of the member comes from the issuer
    UNIQUE (issuer, subject)
);

-- Single sign-ons that have come back from the issuer.
CREATE TABLE oidc_sign_in (
    state   text COLLATE "C" PRIMARY KEY, -- of the flow, which comes back once
    code    text COLLATE "C" UNIQUE,      -- SHA-256 of the code for the app, hexadecimal; NULL after its use
    issuer  text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    member  bigint NOT NULL,              -- who signs in, or may link their account
    linked  bigint NOT NULL,              -- 0 if the account has to be linked first
    expires bigint NOT NULL,              -- the code
    kept    bigint NOT NULL               -- until when the flow could come back again
);
CREATE INDEX oidc_sign_in_kept ON oidc_sign_in (kept);
CREATE INDEX oidc_sign_in_member ON oidc_sign_in (member);
