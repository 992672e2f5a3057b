//! The alert rules and the dashboard in `packaging/monitoring`: they are valid, and use metrics that exist.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;
use tidings_tests::{Authority, Server, only_on_sqlite, wait_until};

use crate::metrics::{address_of, get};
use crate::programs::{is_installed, packaged, packaging};

/// A metric that only a PostgreSQL server with a standby has.
const OF_STANDBYS: &str = "tidings_replication_lag_seconds";

fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names = words.filter(|word| word.starts_with("tidings_"));
    names
        .map(|name| {
            let ends = ["_bucket", "_count", "_sum"];
            ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name).to_owned()
        })
        .collect()
}

#[test]
fn every_metric_of_the_rules_and_the_dashboard_exists() {
    only_on_sqlite!("the rules are those of one file");
    let directory = tempfile::tempdir().unwrap();
    Authority::new("tests").issue_to(directory.path());
    let path = directory.path().to_owned();
    let server = Server::with(move |serve| {
        serve.arg("--tls-cert").arg(path.join("cert.pem")).arg("--tls-key").arg(path.join("key.pem"));
        serve.args(["--metrics-listen", "127.0.0.1:0"]);
    });
    let metrics = address_of(&server);
    let url = format!("https://localhost:{}/get_device", server.address().port());
    let curl = Command::new("curl").args(["-sk", "--noproxy", "*", &url]).output().unwrap();
    assert!(curl.status.success());
    let mut missing = BTreeSet::new();
    wait_until("all metrics are there", || {
        let page = names(&get(metrics, "/metrics").1);
        missing = ["alerts.yml", "alerts.test.yml", "grafana.json"]
            .iter()
            .flat_map(|file| names(&packaged(&format!("monitoring/{file}"))))
            .filter(|name| !page.contains(name) && name != OF_STANDBYS)
            .collect();
        missing.is_empty()
    });
    assert_eq!(missing, BTreeSet::new());
}

#[test]
fn the_alert_rules_are_valid_and_each_has_its_paragraph() {
    let rules = packaged("monitoring/alerts.yml");
    let docs = fs::read_to_string(packaging("../docs/operations.md")).unwrap();
    for alert in rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        assert!(docs.contains(&format!("\n### {alert}\n")), "{alert}");
        assert!(
            rules.contains(&format!("runbook: docs/operations.md#{}\n", alert.to_lowercase())),
            "{alert}"
        );
    }
    if !is_installed("promtool") {
        return;
    }
    for arguments in [["check", "rules", "alerts.yml"], ["test", "rules", "alerts.test.yml"]] {
        let mut promtool = Command::new("promtool");
        let done = promtool.current_dir(packaging("monitoring")).args(arguments).output().unwrap();
        let shown = [done.stdout, done.stderr].concat();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&shown));
    }
}

#[test]
fn the_dashboard_is_complete() {
    let dashboard: Value = serde_json::from_str(&packaged("monitoring/grafana.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<i64> = panels.iter().map(|panel| panel["id"].as_i64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    for panel in panels {
        assert!(panel["title"].is_string() && panel["targets"][0]["expr"].is_string(), "{panel}");
    }
}
