//! What editors complete files by: a JSON schema of each format that people write.

use super::kind::Kind;

/// The schema of a format, which the tests make from its type.
pub fn text(kind: Kind) -> &'static str {
    match kind {
        Kind::Scenario => include_str!("../../docs/schemas/scenario.json"),
        Kind::Servers => include_str!("../../docs/schemas/servers.json"),
        Kind::Gate => include_str!("../../docs/schemas/gate.json"),
        Kind::Grid => include_str!("../../docs/schemas/grid.json"),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "it reads what is checked in")]
mod tests {
    use std::path::{Path, PathBuf};
    use std::{env, fs};

    use schemars::JsonSchema;
    use schemars::generate::SchemaSettings;
    use serde_json::Value;

    use super::super::gate::GateFile;
    use super::super::scenario::Scenario;
    use super::super::server::Servers;
    use super::super::tune::GridFile;
    use super::*;

    fn here(path: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
    }

    /// Of draft 7, the newest that Taplo knows, which completes TOML in editors.
    fn schema_of<T: JsonSchema>() -> Value {
        let settings = SchemaSettings::draft07();
        settings.into_generator().into_root_schema_for::<T>().to_value()
    }

    #[test]
    fn every_schema_of_a_format_that_is_checked_in_is_current() {
        for kind in Kind::ALL {
            let schema = match kind {
                Kind::Scenario => schema_of::<Scenario>(),
                Kind::Servers => schema_of::<Servers>(),
                Kind::Gate => schema_of::<GateFile>(),
                Kind::Grid => schema_of::<GridFile>(),
            };
            let name = kind.name();
            let current = format!("{schema:#}\n");
            if env::var_os("UPDATE_SCHEMA").is_some() {
                fs::write(here(&format!("docs/schemas/{name}.json")), &current).unwrap();
            } else {
                assert!(
                    text(kind) == current,
                    "{name}.json is stale: run UPDATE_SCHEMA=1 cargo test --workspace schema"
                );
            }
        }
    }

    /// The mistakes that an editor would show in a text.
    fn mistakes(kind: Kind, text: &str) -> Vec<String> {
        let schema: Value = serde_json::from_str(super::text(kind)).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let value: Value = crate::config::place::read(text).unwrap();
        let mistakes = validator.iter_errors(&value);
        mistakes
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    }

    #[test]
    fn every_scenario_that_comes_along_fits_its_schema() {
        let mut seen = 0;
        for entry in fs::read_dir(here("scenarios")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let found = mistakes(Kind::Scenario, &fs::read_to_string(&path).unwrap());
                assert_eq!(found, [] as [String; 0], "{}", path.display());
                seen += 1;
            }
        }
        assert!(seen >= 7, "{seen}");
    }

    #[test]
    fn every_profile_that_comes_along_fits_its_schema() {
        assert_eq!(
            mistakes(Kind::Servers, include_str!("profiles.toml")),
            [] as [String; 0]
        );
    }

    #[test]
    fn what_lsp_soak_refuses_an_editor_marks() {
        let scenario = |step: &str| {
            format!("format = 1\nname = 'a'\n[workspace]\npath = '.'\n[[phase]]\nname = 'b'\nsteps = [{step}]\n")
        };
        for wrong in [
            "{ opne = {} }",
            "{ idle = { for = '30' } }",
            "{ idle = { mode = 'loud', for = '30s' } }",
            "{ open = { files = 20, fiels = 3 } }",
        ] {
            assert_ne!(mistakes(Kind::Scenario, &scenario(wrong)), [] as [String; 0], "{wrong}");
        }
        for right in ["{ idle = { for = '1.5 min' } }", "{ open = { files = 20 } }"] {
            assert_eq!(mistakes(Kind::Scenario, &scenario(right)), [] as [String; 0], "{right}");
        }
        let gate = |line: &str| format!("format = 1\n[[endpoint]]\nmetric = 'peak'\n{line}\n");
        assert_ne!(mistakes(Kind::Gate, &gate("tol = '5'")), [] as [String; 0]);
        assert_ne!(mistakes(Kind::Gate, &gate("metrik = 'peak'")), [] as [String; 0]);
        assert_eq!(mistakes(Kind::Gate, &gate("tol = '0.5%'")), [] as [String; 0]);
        let grid = |value: &str| format!("format = 1\n[[axis]]\nname = 'a'\nvalues = [{value}]\n");
        assert_ne!(mistakes(Kind::Grid, &grid("{ envv = { A = '1' } }")), [] as [String; 0]);
        assert_eq!(
            mistakes(Kind::Grid, &grid("{ env = { A = '1' }, cpus = '0-1' }")),
            [] as [String; 0]
        );
        assert_ne!(mistakes(Kind::Servers, "[server.ty]\nargz = []\n"), [] as [String; 0]);
    }
}
