-- The scopes of members with a role, separated by blanks; NULL for all others.
ALTER TABLE member ADD COLUMN scopes TEXT;
