-- What the corrections of accounts, mail, sign-ins and sources store.

-- 1 if the session has begun with single sign-on.
ALTER TABLE session ADD COLUMN by_issuer BIGINT;
