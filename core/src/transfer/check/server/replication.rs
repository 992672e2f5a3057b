//! The check of the standbys: whether commits wait for one, and whether it is connected.

use crate::store::{StoreError, Tx};
use crate::transfer::check::Check;

const NAME: &str = "replication";

#[derive(Debug, Default)]
struct Replication {
    names: String,
    commit: String,
    standbys: Vec<Standby>,
}

#[derive(Debug)]
struct Standby {
    name: String,
    /// Commits wait for it, or for some of a group to which it belongs; `None` if the user may not see it.
    is_waited_for: Option<bool>,
    /// The milliseconds until it had replayed a recent commit; 0 if the user may not see it.
    lag_ms: i64,
}

pub(super) fn look(tx: &mut dyn Tx) -> Result<Check, StoreError> {
    let is_standby: bool = tx.one("SELECT pg_is_in_recovery()", &[])?.take(0)?;
    if is_standby {
        return Ok(Check::new(NAME, true, "only a primary knows which standbys commits wait for"));
    }
    let sql = "SELECT current_setting('synchronous_standby_names'), current_setting('synchronous_commit')";
    let (names, commit) = super::pair(tx, sql)?;
    // A backup is such a connection too, and has a state of its own.
    let sql = "SELECT coalesce(application_name, ''), sync_state,
                      CAST(coalesce(extract(epoch FROM replay_lag), 0) * 1000 AS bigint)
               FROM pg_stat_replication WHERE state IS NULL OR state IN ('streaming', 'catchup') ORDER BY 1";
    let standbys = tx.rows(sql, &[])?.into_iter().map(|mut row| {
        let (name, state): (String, Option<String>) = (row.take(0)?, row.take(1)?);
        let lag_ms = row.take(2)?;
        let is_waited_for = state.map(|state| matches!(&*state, "sync" | "quorum"));
        Ok::<_, StoreError>(Standby { name, is_waited_for, lag_ms })
    });
    let standbys = standbys.collect::<Result<_, _>>()?;
    Ok(Replication { names, commit, standbys }.result())
}

impl Replication {
    fn result(&self) -> Check {
        let names = self.names.trim();
        let hidden = self.standbys.iter().filter(|standby| standby.is_waited_for.is_none()).count();
        if names.is_empty() {
            let ok = |what: &str| Check::new(NAME, true, what);
            return match self.standbys.len() {
                0 => ok("there is no standby"),
                _ => Check::new(
                    NAME,
                    true,
                    format!(
                        "no commit waits for the standbys ({}), so a failover to one of them can lose acknowledged changes: \
                     synchronous_standby_names makes commits wait",
                        self.listed(|_| true)
                    ),
                ),
            };
        }
        if matches!(&*self.commit, "off" | "local") {
            let what = format!(
                "commits do not wait for the standbys of synchronous_standby_names ({names}), because synchronous_commit \
                 is {}: set it to on",
                self.commit
            );
            return Check::new(NAME, false, what);
        }
        let waited = self.listed(|standby| standby.is_waited_for == Some(true));
        if !waited.is_empty() {
            let others = self.listed(|standby| standby.is_waited_for == Some(false));
            let others = if others.is_empty() { others } else { format!("; no commit waits for {others}") };
            return Check::new(NAME, true, format!("commits wait for {waited}{others}"));
        }
        if hidden > 0 {
            let what = format!(
                "commits wait for {names}; which of the {hidden} connected standbys these are is hidden: GRANT \
                 pg_read_all_stats shows it"
            );
            return Check::new(NAME, true, what);
        }
        let what = format!(
            "no standby of synchronous_standby_names ({names}) is connected, so writes wait: start it, or empty the setting"
        );
        Check::new(NAME, false, what)
    }

    fn listed(&self, which: impl Fn(&Standby) -> bool) -> String {
        let shown = |standby: &Standby| {
            let name = if standby.name.is_empty() { "a hidden one" } else { &standby.name };
            match standby.lag_ms / 1_000 {
                0 => name.to_owned(),
                seconds => format!("{name}, {seconds} s behind"),
            }
        };
        self.standbys.iter().filter(|standby| which(standby)).map(shown).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replication(names: &str, commit: &str, standbys: &[(&str, Option<bool>)]) -> (bool, String) {
        let standby =
            |&(name, is_waited_for): &(&str, _)| Standby { name: name.to_owned(), is_waited_for, lag_ms: 0 };
        let standbys = standbys.iter().map(standby).collect();
        let found = Replication { names: names.to_owned(), commit: commit.to_owned(), standbys }.result();
        (found.ok, found.detail)
    }

    #[test]
    fn a_standby_that_commits_must_wait_for_is_connected_and_what_the_user_may_not_see_is_no_fault() {
        for (names, commit, standbys, right, detail) in [
            (
                "second",
                "on",
                &[("second", Some(true)), ("third", Some(false))][..],
                true,
                "commits wait for second; no commit waits for third",
            ),
            ("second", "on", &[("third", Some(false))], false, "(second) is connected"),
            ("second", "local", &[("second", Some(true))], false, "synchronous_commit is local"),
            ("", "on", &[("second", Some(false))], true, "(second)"),
            (" ", "on", &[], true, "there is no standby"),
            ("second", "on", &[("", None)], true, "pg_read_all_stats"),
            ("", "on", &[("", None)], true, ""),
        ] {
            let (ok, what) = replication(names, commit, standbys);
            assert!(ok == right && what.contains(detail), "{what}");
        }
    }

    #[test]
    fn a_standby_that_is_behind_is_named_with_its_lag() {
        let standby = |lag_ms| Standby { name: "second".into(), is_waited_for: Some(true), lag_ms };
        let detail = |lag_ms| {
            Replication { names: "second".into(), commit: "on".into(), standbys: vec![standby(lag_ms)] }
                .result()
                .detail
        };
        assert_eq!(detail(999), "commits wait for second");
        assert_eq!(detail(7_300), "commits wait for second, 7 s behind");
    }
}
