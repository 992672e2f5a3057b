//! Statements that run once for many lists of arguments.
//!
//! A statement costs the server more than the few rows that it reads or the row that it inserts. So a statement is changed into
//! one that takes an array of each argument.

use tokio_postgres::types::Type;

/// The first column of the rows is the number of the element, from 1 on; the others are those of `sql`. Returns `None` for a
/// statement for which this would not be the same.
///
/// The query runs for one element after the other, so one that locks rows locks them in the order of the elements.
pub(super) fn query_over_arrays(sql: &str, types: &[Type]) -> Option<String> {
    let is_query = sql.trim_start().starts_with("SELECT");
    if !is_query {
        return None;
    }
    let Elements { each, from } = Elements::of(sql, types)?;
    Some(format!("SELECT given.element, q.* FROM {from}, LATERAL (SELECT * FROM ({each}) AS s LIMIT 1) AS q"))
}

/// Inserts in the order of the elements. Returns `None` for a statement other than one that always inserts one row.
pub(super) fn insert_over_arrays(sql: &str, types: &[Type]) -> Option<String> {
    let Insert { into, values, then } = Insert::of(sql)?;
    if !then.is_empty() {
        return None;
    }
    let Elements { each, from } = Elements::of(values, types)?;
    Some(format!("{into} SELECT {each} FROM {from} ORDER BY given.element"))
}

/// Elements change different rows, and their order matters only to the locks of an insertion. Returns `None` for a statement for
/// which this would not be the same.
pub(super) fn change_over_arrays(sql: &str, types: &[Type]) -> Option<String> {
    if let Some(Insert { into, values, then }) = Insert::of(sql) {
        let Elements { each, from } = Elements::of(values, types)?;
        return Some(format!("{into} SELECT {each} FROM {from} ORDER BY given.element {then}"));
    }
    let (set, condition) = sql.trim().strip_prefix("UPDATE ")?.split_once("WHERE")?;
    let is_one = |part: &str| !part.contains("SELECT") && !part.contains("FROM");
    if !is_one(set) || !is_one(condition) {
        return None;
    }
    let [set, condition] = [set, condition].map(|part| Elements::of(part, types));
    let (Elements { each: set, from }, Elements { each: condition, .. }) = (set?, condition?);
    Some(format!("UPDATE {set}FROM {from} WHERE{condition}"))
}

/// Inserts the absent rows, in the order of the elements, for an insertion of one row that ends with `ON CONFLICT (…) DO
/// NOTHING`. The rows are the numbers of the inserted elements, from 1 on. A condition of the insertion sees none of these rows.
/// Returns `None` for another statement.
pub(super) fn insert_absent_over_arrays(sql: &str, types: &[Type]) -> Option<String> {
    let (insert, keys) = sql.trim().strip_suffix("DO NOTHING")?.rsplit_once("ON CONFLICT")?;
    let keys: Vec<&str> = in_parentheses(keys)?.split(',').map(str::trim).collect();
    let (into, rest) = insert.strip_prefix("INSERT INTO ")?.split_once(')')?;
    let (table, columns) = into.split_once('(')?;
    let (values, condition) = match rest.trim().strip_prefix("VALUES") {
        Some(values) => (in_parentheses(values)?, ""),
        None => rest.trim().strip_prefix("SELECT ")?.split_once("WHERE ")?,
    };
    let Elements { each: selected, from } = Elements::of(values, types)?;
    // The argument in each key column tells to which element an inserted row belongs.
    let same = keys.iter().map(|key| {
        let at = columns.split(',').position(|column| column.trim() == *key)?;
        values.split(',').nth(at)?.trim().strip_prefix('$')?.parse::<usize>().ok()?;
        Some(format!("inserted.{key} = {}", selected.split(',').nth(at)?.trim()))
    });
    let same = same.collect::<Option<Vec<_>>>()?.join(" AND ");
    let condition = Elements::of(condition, types)?.each;
    let condition = if condition.is_empty() { condition } else { format!("WHERE {condition}") };
    let inserted: Vec<String> = keys.iter().map(|key| format!("inserted.{key}")).collect();
    let (keys, inserted) = (keys.join(", "), inserted.join(", "));
    Some(format!(
        "WITH given AS MATERIALIZED (SELECT * FROM {from}),
         inserted AS (INSERT INTO {table}({columns}) SELECT {selected} FROM given {condition} ORDER BY given.element
                      ON CONFLICT ({keys}) DO NOTHING RETURNING {keys})
         SELECT min(given.element) FROM inserted JOIN given ON {same} GROUP BY {inserted}"
    ))
}

struct Insert<'s> {
    into: &'s str,
    values: &'s str,
    /// The conflict clause without arguments, or nothing.
    then: &'s str,
}

impl<'s> Insert<'s> {
    fn of(sql: &'s str) -> Option<Self> {
        let (into, rest) = sql.trim().split_once("VALUES")?;
        let (values, then) = rest.split_at(rest.find("ON CONFLICT").unwrap_or(rest.len()));
        let is_of_one_row = into.starts_with("INSERT") && !then.contains('$');
        is_of_one_row.then_some(Self { into: into.trim_end(), values: in_parentheses(values)?, then })
    }
}

fn in_parentheses(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    let is_one = inner.bytes().try_fold(0_usize, |open, byte| match byte {
        b'(' => Some(open + 1),
        b')' => open.checked_sub(1),
        _ => Some(open),
    });
    (is_one == Some(0)).then_some(inner)
}

struct Elements {
    /// With columns of `given` in place of the arguments.
    each: String,
    /// The table `given` with the elements, and their number in `element`: no table has a column of this name.
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
            arrays.push(format!("(SELECT ${number}::{}[])", kind.name()));
            names.push(name);
        }
        // In a subquery, so that the server does not look at the arrays when it plans: it takes an unknown array for one of ten
        // elements, and most are shorter, so it would plan each run again.
        arrays.reverse();
        names.reverse();
        let (arrays, names) = (arrays.join(", "), names.join(", "));
        Some(Self { each, from: format!("unnest({arrays}) WITH ORDINALITY AS given ({names}, element)") })
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
            "SELECT given.element, q.* FROM unnest((SELECT $1::text[]), (SELECT $2::int8[])) WITH ORDINALITY AS given (p1, p2, element), \
             LATERAL (SELECT * FROM \
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
             unnest((SELECT $1::text[]), (SELECT $2::int8[])) WITH ORDINALITY AS given (p1, p2, element) ORDER BY given.element"
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

    #[test]
    fn an_insertion_of_absent_rows_takes_arrays_of_its_arguments() {
        let sql = "INSERT INTO liked (member, post, date) SELECT $3, $1, $2
                   WHERE NOT EXISTS (SELECT 1 FROM recent WHERE member = $3 AND post = $1)
                   ON CONFLICT (member, post) DO NOTHING";
        let statement = insert_absent_over_arrays(sql, &[const { Type::INT8 }; 3]).unwrap();
        let words: Vec<&str> = statement.split_whitespace().collect();
        assert_eq!(
            words.join(" "),
            "WITH given AS MATERIALIZED (SELECT * FROM unnest((SELECT $1::int8[]), (SELECT $2::int8[]), (SELECT $3::int8[])) \
             WITH ORDINALITY AS given (p1, p2, p3, element)), inserted AS (INSERT INTO liked (member, post, date) SELECT given.p3, given.p1, given.p2 FROM given \
             WHERE NOT EXISTS (SELECT 1 FROM recent WHERE member = given.p3 AND post = given.p1) ORDER BY given.element ON CONFLICT \
             (member, post) DO NOTHING RETURNING member, post) SELECT min(given.element) FROM inserted JOIN given ON \
             inserted.member = given.p3 AND inserted.post = given.p1 GROUP BY inserted.member, inserted.post"
        );
        for sql in [
            "INSERT INTO liked (member, post) VALUES ($1, $2)",
            "INSERT INTO liked (member, post) VALUES ($1, $2) ON CONFLICT (member) DO UPDATE SET post = 1",
            "INSERT INTO liked (member, post) VALUES ($1, 7) ON CONFLICT (post) DO NOTHING",
            "INSERT INTO liked (member, post) VALUES ($1, $2) ON CONFLICT (date) DO NOTHING",
        ] {
            assert!(insert_absent_over_arrays(sql, &[const { Type::INT8 }; 2]).is_none(), "{sql}");
        }
    }

    #[test]
    fn a_change_of_other_rows_takes_arrays_of_its_arguments() {
        let types = [const { Type::INT8 }; 2];
        let from =
            "unnest((SELECT $1::int8[]), (SELECT $2::int8[])) WITH ORDINALITY AS given (p1, p2, element)";
        let sql = "INSERT INTO acts (member, n) VALUES ($1, $2) ON CONFLICT (member) DO UPDATE SET n = acts.n + excluded.n";
        let expected = format!(
            "INSERT INTO acts (member, n) SELECT given.p1, given.p2 FROM {from} ORDER BY given.element \
             ON CONFLICT (member) DO UPDATE SET n = acts.n + excluded.n"
        );
        assert_eq!(change_over_arrays(sql, &types).unwrap(), expected);
        let sql = "UPDATE stats SET view = view + $2 WHERE post = $1";
        let expected = format!("UPDATE stats SET view = view + given.p2 FROM {from} WHERE post = given.p1");
        assert_eq!(change_over_arrays(sql, &types).unwrap(), expected);
        for sql in [
            "DELETE FROM stats WHERE post = $1",
            "INSERT INTO acts (member) VALUES ($1) ON CONFLICT (member) DO UPDATE SET n = $2",
            "UPDATE stats SET view = (SELECT $2) WHERE post = $1",
            "UPDATE stats SET view = $2 FROM post WHERE post = $1",
        ] {
            assert!(change_over_arrays(sql, &types).is_none(), "{sql}");
        }
    }
}
