-- The people of an issuer of single sign-on who are members.
CREATE TABLE oidc_identity (
    member  INTEGER PRIMARY KEY,
    issuer  TEXT NOT NULL,
    subject TEXT NOT NULL,        -- the issuer's identifier of the person
    date    INTEGER NOT NULL,
    names   INTEGER NOT NULL,     -- 1 if the name of the member comes from the issuer
    UNIQUE (issuer, subject)
) STRICT;

-- Single sign-ons that have come back from the issuer.
CREATE TABLE oidc_sign_in (
    state   TEXT PRIMARY KEY,     -- of the flow, which comes back once
    code    TEXT UNIQUE,          -- SHA-256 of the code for the app, hexadecimal; NULL after its use
    issuer  TEXT NOT NULL,
    subject TEXT NOT NULL,
    member  INTEGER NOT NULL,     -- who signs in, or may link their account
    linked  INTEGER NOT NULL,     -- 0 if the account has to be linked first
    expires INTEGER NOT NULL,     -- the code
    kept    INTEGER NOT NULL      -- until when the flow could come back again
) STRICT;
CREATE INDEX oidc_sign_in_kept ON oidc_sign_in (kept);
CREATE INDEX oidc_sign_in_member ON oidc_sign_in (member);
