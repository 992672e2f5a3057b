-- All texts compare by their bytes, as those of the first step do. No table is rewritten: only the indexes on these columns are
-- built again, of which those of sessions and recovery codes can be large.
ALTER TABLE feed_weights
    ALTER COLUMN origin TYPE text COLLATE "C",
    ALTER COLUMN content TYPE text COLLATE "C";
ALTER TABLE audit
    ALTER COLUMN surface TYPE text COLLATE "C",
    ALTER COLUMN actor TYPE text COLLATE "C",
    ALTER COLUMN actor_name TYPE text COLLATE "C",
    ALTER COLUMN actor_proof TYPE text COLLATE "C",
    ALTER COLUMN action TYPE text COLLATE "C",
    ALTER COLUMN subject TYPE text COLLATE "C",
    ALTER COLUMN subject_proof TYPE text COLLATE "C",
    ALTER COLUMN old_value TYPE text COLLATE "C",
    ALTER COLUMN new_value TYPE text COLLATE "C",
    ALTER COLUMN hash TYPE text COLLATE "C";
ALTER TABLE audit_chain
    ALTER COLUMN removed_hash TYPE text COLLATE "C",
    ALTER COLUMN head_hash TYPE text COLLATE "C";
ALTER TABLE audit_identity
    ALTER COLUMN salt TYPE text COLLATE "C";
ALTER TABLE api_key
    ALTER COLUMN id TYPE text COLLATE "C",
    ALTER COLUMN name TYPE text COLLATE "C",
    ALTER COLUMN hash TYPE text COLLATE "C",
    ALTER COLUMN scopes TYPE text COLLATE "C";
ALTER TABLE session
    ALTER COLUMN id TYPE text COLLATE "C",
    ALTER COLUMN device TYPE text COLLATE "C";
ALTER TABLE second_factor
    ALTER COLUMN secret TYPE text COLLATE "C";
ALTER TABLE recovery_code
    ALTER COLUMN hash TYPE text COLLATE "C";
