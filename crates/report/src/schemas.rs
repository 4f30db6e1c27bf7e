//! Makes the schemas of reports, and tests that those which are checked in match the types.

use std::path::Path;
use std::{env, fs};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::{bisect, comparison, run, shrink, sweep, verdict};

pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::default().for_serialize();
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it reads the schemas that are checked in")]
fn every_schema_of_a_report_that_is_checked_in_is_current() {
    for (name, schema) in [
        ("run-report", run::json::schema()),
        ("comparison-report", comparison::json::schema()),
        ("gate-report", verdict::json::schema()),
        ("bisect-report", bisect::schema()),
        ("tune-report", sweep::json::schema()),
        ("shrink-report", shrink::schema()),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/schemas/{name}.json"));
        let current = format!("{schema:#}\n");
        if env::var_os("UPDATE_SCHEMA").is_some() {
            fs::write(&path, &current).unwrap();
        }
        assert!(
            fs::read_to_string(&path).unwrap() == current,
            "{name}.json is stale: raise the version of the format where it changes, \
             then run UPDATE_SCHEMA=1 cargo test --workspace schema"
        );
    }
}
