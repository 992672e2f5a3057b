//! Replication: a second server that follows the first.

use crate::cluster::Cluster;
use crate::process::wait_until;

impl Cluster {
    /// Starts a standby that follows this server under `name`, a plain word. It has no TCP unless this server has.
    #[must_use]
    pub fn standby(&self, name: &str) -> Self {
        let standby = Self::prepare(self.programs().clone(), self.is_tcp());
        let data = standby.data();
        let data = data.display();
        let source = format!("{}?application_name={name}", self.url(""));
        standby
            .supervisor()
            .run(&format!("pg_basebackup -D {data} -d '{source}' -c fast --no-sync -X stream"));
        standby.supervisor().run(&format!("touch {data}/standby.signal"));
        standby.configure([("primary_conninfo", format!("'{source}'").as_str())]);
        standby.start();
        standby
    }

    /// Makes commits of this server wait until the standby of this name has them on disk, and waits until the standby
    /// is connected. Without a name, commits wait for no standby.
    pub fn wait_for_standby(&self, name: Option<&str>) {
        let mut connection = self.connect();
        let set = format!("ALTER SYSTEM SET synchronous_standby_names = '{}'", name.unwrap_or_default());
        connection.query(&set, &[]);
        connection.query("SELECT pg_reload_conf()", &[]);
        let Some(name) = name else { return };
        let sql = "SELECT 1 FROM pg_stat_replication WHERE application_name = $1 AND sync_state = 'sync'";
        wait_until("the standby is connected", || !connection.query(sql, &[name.into()]).is_empty());
    }

    /// Promotes a standby, and waits until it accepts writes.
    pub fn promote(&self) {
        self.supervisor().run(&format!("pg_ctl -D {} -t 60 -w promote", self.data().display()));
    }
}
