#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treatment {
    /// The rows are copied. A new database has none.
    Rows,
    /// The rows replace those that a new database has.
    Settings,
    Empty,
    /// The engine of the copy fills the table.
    Own,
}

/// All tables of both engines, in the order in which they are copied: a row comes after the rows that it refers to.
const TABLES: [(&str, Treatment); 70] = [
    ("member", Treatment::Rows),
    ("member_acts", Treatment::Rows),
    ("removed_member", Treatment::Rows),
    ("roster", Treatment::Rows),
    ("session", Treatment::Rows),
    ("second_factor", Treatment::Rows),
    ("recovery_code", Treatment::Rows),
    // Codes of an hour, which must not work twice.
    ("code", Treatment::Empty),
    ("invitation", Treatment::Rows),
    ("member_email", Treatment::Rows),
    ("mail", Treatment::Rows),
    ("passkey", Treatment::Rows),
    ("oidc_identity", Treatment::Rows),
    // Numbers of the last hour.
    ("mail_limit", Treatment::Empty),
    ("sign_in_place", Treatment::Rows),
    ("audit_identity", Treatment::Rows),
    ("audit", Treatment::Rows),
    ("audit_chain", Treatment::Settings),
    ("api_key", Treatment::Rows),
    ("logged_key", Treatment::Rows),
    ("notice", Treatment::Rows),
    ("notice_draft", Treatment::Rows),
    ("notice_reads", Treatment::Rows),
    ("feedback", Treatment::Rows),
    ("webhook", Treatment::Rows),
    ("webhook_delivery", Treatment::Rows),
    ("main_info", Treatment::Settings),
    ("post", Treatment::Rows),
    ("post_stats", Treatment::Rows),
    ("source", Treatment::Rows),
    ("source_hub", Treatment::Rows),
    ("post_source", Treatment::Rows),
    ("source_removed", Treatment::Rows),
    ("label", Treatment::Rows),
    ("category", Treatment::Rows),
    ("removed_post", Treatment::Rows),
    ("feed_weights", Treatment::Rows),
    ("settled_like", Treatment::Rows),
    ("recent_like", Treatment::Rows),
    ("viewed", Treatment::Rows),
    ("hidden", Treatment::Rows),
    ("searched", Treatment::Rows),
    ("opened", Treatment::Rows),
    ("moved_act", Treatment::Rows),
    ("term", Treatment::Rows),
    ("zone", Treatment::Settings),
    ("zone_change", Treatment::Rows),
    ("day_count", Treatment::Rows),
    ("total_count", Treatment::Settings),
    ("visitor", Treatment::Rows),
    // A key that must be destroyed at the end of its day may not stay in a copy. Guests who come back on the day of the copy
    // count a second time.
    ("day_key", Treatment::Empty),
    ("request", Treatment::Rows),
    // The key of the hashes of accounts and clients whose sign-ins failed.
    ("path_key", Treatment::Settings),
    ("log", Treatment::Rows),
    // A shard that has no row begins after all lines. Only PostgreSQL has this table.
    ("log_shard", Treatment::Empty),
    // For caches, all of which load everything from a new database: its first revision changes every topic and all posts.
    ("touched", Treatment::Empty),
    ("post_change", Treatment::Empty),
    // The orders of a few minutes. Only PostgreSQL has this table.
    ("feed_order", Treatment::Empty),
    // Failures of the last day. Only PostgreSQL has this table.
    ("sign_in_failure", Treatment::Empty),
    // Leases of running servers.
    ("lease", Treatment::Empty),
    // The word model, which the first server on the copy learns again.
    ("word_model", Treatment::Empty),
    ("word_model_part", Treatment::Empty),
    // The first server on the copy records its key. Only PostgreSQL has this table.
    ("token_key", Treatment::Empty),
    // The search index is made again from the posts.
    ("post_index", Treatment::Own),
    ("post_terms", Treatment::Own),
    // The revisions of the copy continue after those of the source: see `sql::continue_after`.
    ("revision", Treatment::Own),
    ("revision_base", Treatment::Own),
    ("lane", Treatment::Own),
    ("schema_version", Treatment::Own),
    ("incomplete_copy", Treatment::Own),
];

pub(super) fn copied() -> impl Iterator<Item = &'static str> {
    with(|treatment| matches!(treatment, Treatment::Rows | Treatment::Settings))
}

/// Rows are deleted first from these tables. Not every engine has all of them.
pub(super) fn emptied() -> impl Iterator<Item = &'static str> {
    with(|treatment| treatment != Treatment::Own)
}

/// These tables must have no rows before.
#[cfg(feature = "postgres")]
pub(super) fn unused() -> impl Iterator<Item = &'static str> {
    with(|treatment| treatment == Treatment::Rows)
}

fn with(is_wanted: fn(Treatment) -> bool) -> impl Iterator<Item = &'static str> {
    TABLES.into_iter().filter(move |(_, treatment)| is_wanted(*treatment)).map(|(name, _)| name)
}

#[cfg(test)]
pub(super) fn names() -> Vec<&'static str> {
    TABLES.map(|(name, _)| name).to_vec()
}
