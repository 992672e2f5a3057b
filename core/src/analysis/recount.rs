//! Checks counters against stored rows and against each other, and corrects them. Most counters cannot be recomputed: searches and
//! views leave no permanent row, lines of the access log are deleted after some time, and guests at the end of their day. But each
//! total must equal the sum of its days, and no day may count fewer visitors than it has rows of visitors.

use super::counters::Counter;
use crate::record::error::Result;
use crate::store::inspect::Inspected;
use crate::store::{Row, StoreError, Topic, Tx};

pub(crate) fn wrong_visitors(database: &dyn Inspected) -> Result<Vec<String>> {
    let days = database.read(|tx| sql::days_with_fewer_visitors(tx))?;
    Ok(days.into_iter().map(|(day, _)| date(day)).collect())
}

pub(crate) fn count_visitors(database: &dyn Inspected) -> Result<()> {
    // Looking at all days is slow, so it happens outside of the write.
    for (day, _) in database.read(|tx| sql::days_with_fewer_visitors(tx))? {
        database.write(|tx| {
            let missing = sql::missing_visitors(tx, day)?;
            if missing > 0 {
                tx.count(Counter::Visitor as i64, Some(day), missing);
                tx.touch(Topic::History);
            }
            Ok::<_, StoreError>(())
        })?;
    }
    Ok(())
}

pub(crate) fn wrong_totals(database: &dyn Inspected) -> Result<Vec<String>> {
    let totals = database.read(|tx| sql::totals(tx))?;
    let wrong =
        |(counter, total, sum): (i64, i64, i64)| format!("counter {counter} says {total}, its days {sum}");
    Ok(totals.into_iter().map(wrong).collect())
}

pub(crate) fn sum_totals(database: &dyn Inspected) -> Result<()> {
    database.write(|tx| {
        for (counter, total, sum) in sql::totals(tx)? {
            tx.count(counter, None, sum - total);
        }
        Ok(())
    })
}

fn date(day: i64) -> String {
    let day = i32::try_from(day).ok().and_then(|day| {
        jiff::civil::date(1970, 1, 1).checked_add(jiff::Span::new().try_days(day).ok()?).ok()
    });
    day.map_or_else(|| "a day of no calendar".to_owned(), |date| date.to_string())
}

mod sql {
    use super::{Counter, Row, StoreError, Tx};

    /// Each with the number of visitors missing from its counters.
    pub(super) fn days_with_fewer_visitors(tx: &mut dyn Tx) -> Result<Vec<(i64, i64)>, StoreError> {
        let sql = "SELECT v.day, v.n - coalesce(c.n, 0) FROM (SELECT day, count(*) AS n FROM visitor GROUP BY day) v
                   LEFT JOIN (SELECT day, sum(n) AS n FROM day_count WHERE counter = $1 GROUP BY day) c
                       ON c.day = v.day
                   WHERE v.n > coalesce(c.n, 0) ORDER BY v.day";
        let day = |mut row: Row| Ok((row.take(0)?, row.take(1)?));
        tx.rows(sql, &[(Counter::Visitor as i64).into()])?.into_iter().map(day).collect()
    }

    /// Below 1 if none is missing.
    pub(super) fn missing_visitors(tx: &mut dyn Tx, day: i64) -> Result<i64, StoreError> {
        let sql = "SELECT (SELECT count(*) FROM visitor WHERE day = $1)
                       - coalesce((SELECT sum(n) FROM day_count WHERE day = $1 AND counter = $2), 0)";
        tx.one(sql, &[day.into(), (Counter::Visitor as i64).into()])?.take(0)
    }

    /// Returns the counter, its total, and the sum of its days. Leaves out counters without days, and those by hour, which have
    /// no total.
    pub(super) fn totals(tx: &mut dyn Tx) -> Result<Vec<(i64, i64, i64)>, StoreError> {
        let sql = "SELECT counter, sum(total), sum(days) FROM (
                       SELECT counter, n AS total, 0 AS days FROM total_count
                       UNION ALL SELECT counter, 0, n FROM day_count) counted
                   WHERE counter NOT IN ($1, $2) AND counter < 200
                   GROUP BY counter HAVING sum(total) <> sum(days) ORDER BY counter";
        let total = |mut row: Row| Ok((row.take(0)?, row.take(1)?, row.take(2)?));
        let not_by_days = [Counter::Posts, Counter::Wording].map(|counter| (counter as i64).into());
        tx.rows(sql, &not_by_days)?.into_iter().map(total).collect()
    }
}
