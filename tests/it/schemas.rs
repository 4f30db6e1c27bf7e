//! The committed schemas match the types.

use std::path::Path;

use lsp_soak::config::Kind;
use lsp_soak::config::schema::text;
use report::{comparison, run, sweep, verdict};

#[test]
fn every_schema_that_is_checked_in_is_current() {
    let reports = [
        ("run-report", run::json::schema()),
        ("comparison-report", comparison::json::schema()),
        ("gate-report", verdict::json::schema()),
        ("tune-report", sweep::json::schema()),
    ];
    let formats = Kind::ALL.map(|kind| (kind.name(), text(kind)));
    let reports = reports.map(|(name, schema)| (name, format!("{schema:#}\n")));
    for (name, current) in formats.into_iter().chain(reports) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/schemas/{name}.json"));
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(&path, &current).unwrap();
        }
        let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            checked_in.replace("\r\n", "\n") == current,
            "{} is stale: raise the version of the format where it changes, then run UPDATE_SCHEMA=1 cargo test schema",
            path.display()
        );
    }
}
