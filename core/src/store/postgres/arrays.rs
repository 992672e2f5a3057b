//! Queries that run once for many lists of arguments.
//!
//! A statement costs the server more than the few rows that a look-up reads. So a query is changed into one that takes an array
//! of each argument and returns the first row for each list.

use tokio_postgres::types::Type;

/// Returns the query that runs `sql` for each element of arrays, whose arguments have these types: the first column of its rows is
/// the number of the element, from 1 on, and the others are those of `sql`. Returns `None` for a statement for which this would not
/// be the same.
///
/// A query that depends on each element runs for one after the other. So one that locks rows locks them in the order of the
/// elements.
pub(super) fn over_arrays(sql: &str, types: &[Type]) -> Option<String> {
    let is_query = sql.trim_start().starts_with("SELECT");
    if !is_query || types.is_empty() {
        return None;
    }
    let mut arrays = Vec::with_capacity(types.len());
    let mut names = Vec::with_capacity(types.len());
    let mut each = sql.to_owned();
    // From the last on: `$1` is the beginning of `$10`.
    for (index, kind) in types.iter().enumerate().rev() {
        let number = index + 1;
        let name = format!("p{number}");
        // All texts of the schema have this collation; without one, it would be that of the database.
        let value = match *kind {
            Type::TEXT => format!("(given.{name} COLLATE \"C\")"),
            Type::INT8 | Type::INT4 | Type::FLOAT8 | Type::BOOL => format!("given.{name}"),
            _ => return None,
        };
        each = each.replace(&format!("${number}"), &value);
        arrays.push(format!("${number}::{}[]", kind.name()));
        names.push(name);
    }
    arrays.reverse();
    names.reverse();
    Some(format!(
        "SELECT given.n, q.* FROM unnest({}) WITH ORDINALITY AS given ({}, n), LATERAL (SELECT * FROM ({each}) AS s LIMIT 1) AS q",
        arrays.join(", "),
        names.join(", "),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_takes_arrays_of_its_arguments() {
        let sql = "SELECT key FROM member WHERE folded = $1 AND key > $2";
        assert_eq!(
            over_arrays(sql, &[Type::TEXT, Type::INT8]).unwrap(),
            "SELECT given.n, q.* FROM unnest($1::text[], $2::int8[]) WITH ORDINALITY AS given (p1, p2, n), LATERAL (SELECT * FROM \
             (SELECT key FROM member WHERE folded = (given.p1 COLLATE \"C\") AND key > given.p2) AS s LIMIT 1) AS q"
        );
        let many = [const { Type::INT8 }; 12];
        assert!(over_arrays("SELECT $1 + $12", &many).unwrap().contains("(SELECT given.p1 + given.p12)"));
    }

    #[test]
    fn a_statement_that_changes_rows_takes_none() {
        assert!(over_arrays("DELETE FROM member WHERE key = $1", &[Type::INT8]).is_none());
        assert!(over_arrays("SELECT 1", &[]).is_none());
    }
}
