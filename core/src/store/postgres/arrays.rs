//! Statements that run once for many lists of arguments.
//!
//! A statement costs the server more than the few rows that a look-up reads or the row that it inserts. So a statement is changed
//! into one that takes an array of each argument.

use tokio_postgres::types::Type;

/// Returns the query that runs `sql` for each element of arrays, whose arguments have these types: the first column of its rows is
/// the number of the element, from 1 on, and the others are those of `sql`. Returns `None` for a statement for which this would not
/// be the same.
///
/// A query that depends on each element runs for one after the other. So one that locks rows locks them in the order of the
/// elements.
pub(super) fn query_over_arrays(sql: &str, types: &[Type]) -> Option<String> {
    let is_query = sql.trim_start().starts_with("SELECT");
    if !is_query {
        return None;
    }
    let Elements { each, from } = Elements::of(sql, types)?;
    Some(format!("SELECT given.n, q.* FROM {from}, LATERAL (SELECT * FROM ({each}) AS s LIMIT 1) AS q"))
}

/// Returns the statement that inserts a row for each element of arrays, in their order. Returns `None` for a statement other than
/// one that always inserts one row.
pub(super) fn insert_over_arrays(sql: &str, types: &[Type]) -> Option<String> {
    let (head, values) = sql.trim().split_once("VALUES")?;
    let values = values.trim().strip_prefix('(')?.strip_suffix(')')?;
    // With a further clause, the list of values would not end the statement, or it would end with another list.
    let is_one_list = values
        .bytes()
        .try_fold(0_usize, |open, byte| match byte {
            b'(' => Some(open + 1),
            b')' => open.checked_sub(1),
            _ => Some(open),
        })
        .is_some_and(|open| open == 0);
    if !head.starts_with("INSERT") || !is_one_list {
        return None;
    }
    let Elements { each, from } = Elements::of(values, types)?;
    Some(format!("{head}SELECT {each} FROM {from} ORDER BY given.n"))
}

/// A part of a statement, changed to use the elements of arrays.
struct Elements {
    /// The part, with columns of `given` in place of the arguments.
    each: String,
    /// The table `given` with the elements and their number `n`.
    from: String,
}

impl Elements {
    /// Returns `None` if there are no arguments, or one of a type that has no array here.
    fn of(sql: &str, types: &[Type]) -> Option<Self> {
        if types.is_empty() {
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
                Type::INT8 | Type::INT4 | Type::FLOAT8 | Type::BOOL | Type::BYTEA => format!("given.{name}"),
                _ => return None,
            };
            each = each.replace(&format!("${number}"), &value);
            arrays.push(format!("${number}::{}[]", kind.name()));
            names.push(name);
        }
        arrays.reverse();
        names.reverse();
        let (arrays, names) = (arrays.join(", "), names.join(", "));
        Some(Self { each, from: format!("unnest({arrays}) WITH ORDINALITY AS given ({names}, n)") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_takes_arrays_of_its_arguments() {
        let sql = "SELECT key FROM member WHERE folded = $1 AND key > $2";
        assert_eq!(
            query_over_arrays(sql, &[Type::TEXT, Type::INT8]).unwrap(),
            "SELECT given.n, q.* FROM unnest($1::text[], $2::int8[]) WITH ORDINALITY AS given (p1, p2, n), LATERAL (SELECT * FROM \
             (SELECT key FROM member WHERE folded = (given.p1 COLLATE \"C\") AND key > given.p2) AS s LIMIT 1) AS q"
        );
        let many = [const { Type::INT8 }; 12];
        assert!(
            query_over_arrays("SELECT $1 + $12", &many).unwrap().contains("(SELECT given.p1 + given.p12)")
        );
    }

    #[test]
    fn a_statement_that_changes_rows_takes_none() {
        assert!(query_over_arrays("DELETE FROM member WHERE key = $1", &[Type::INT8]).is_none());
        assert!(query_over_arrays("SELECT 1", &[]).is_none());
    }

    #[test]
    fn an_insert_takes_arrays_of_its_arguments() {
        let sql = "INSERT INTO label (name, post, topic) VALUES ($1, abs($2), 1)";
        assert_eq!(
            insert_over_arrays(sql, &[Type::TEXT, Type::INT8]).unwrap(),
            "INSERT INTO label (name, post, topic) SELECT (given.p1 COLLATE \"C\"), abs(given.p2), 1 FROM \
             unnest($1::text[], $2::int8[]) WITH ORDINALITY AS given (p1, p2, n) ORDER BY given.n"
        );
    }

    #[test]
    fn a_statement_that_may_insert_any_number_of_rows_takes_none() {
        for sql in [
            "INSERT INTO label (post) VALUES ($1) ON CONFLICT (post) DO NOTHING",
            "INSERT INTO label (post) VALUES ($1) ON CONFLICT (post)",
            "INSERT INTO label (post) VALUES ($1), (2)",
            "INSERT INTO label (post) VALUES ($1) RETURNING (post)",
            "INSERT INTO label (post) SELECT $1",
            "UPDATE label SET post = $1",
        ] {
            assert!(insert_over_arrays(sql, &[Type::INT8]).is_none(), "{sql}");
        }
    }
}
