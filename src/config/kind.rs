//! The file formats that users write; detects another format where a scenario is expected.

use strum::IntoStaticStr;
use toml::de::DeTable;

#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Kind {
    Scenario,
    Servers,
    Gate,
    Grid,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Scenario, Kind::Servers, Kind::Gate, Kind::Grid];

    /// Its name, and the name of its schema file.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Top-level keys that occur in only one format.
const KEYS: [(Kind, &[&str]); 3] = [
    (Kind::Servers, &["server"]),
    (Kind::Gate, &["endpoint", "budgets", "leak", "work"]),
    (Kind::Grid, &["axis", "cell"]),
];

/// Keys that identify a scenario, whatever else the file contains.
const OWN: [&str; 3] = ["phase", "workspace", "include"];

/// The format of the file at `path`, and the command that reads it; `None` for a scenario or an unknown format.
pub fn no_scenario(path: &str, text: &str) -> Option<(String, String)> {
    let table = DeTable::parse(text).ok()?.into_inner();
    if OWN.iter().any(|key| table.contains_key(*key)) {
        return None;
    }
    let is = |keys: &[&str]| keys.iter().any(|key| table.contains_key(*key));
    let (kind, _) = KEYS.iter().find(|(_, keys)| is(keys))?;
    let (what, cure) = match kind {
        Kind::Scenario => return None,
        Kind::Servers => (
            "holds profiles of servers",
            format!("check it with `lsp-soak servers --servers {path}`, or name it with --servers beside a scenario"),
        ),
        Kind::Gate => (
            "is a gate file",
            format!("`lsp-soak gate SCENARIO --gate {path}` reads it, and tells its mistakes before anything is run"),
        ),
        Kind::Grid => (
            "is a grid of settings",
            format!("`lsp-soak tune SCENARIO --grid {path}` reads it, and tells its mistakes before anything is run"),
        ),
    };
    Some((format!("`{path}` {what}, so it is not a scenario"), cure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_scenario_is_told_with_the_command_that_reads_it() {
        let said = |text| no_scenario("a.toml", text).map(|(title, cure)| format!("{title}: {cure}"));
        for (text, words) in [
            (
                "[server.mine]\nargz = []",
                "holds profiles of servers, so it is not a scenario: check it with `lsp-soak servers",
            ),
            (
                "format = 1\nbudgets = []",
                "is a gate file, so it is not a scenario: `lsp-soak gate SCENARIO --gate a.toml`",
            ),
            (
                "format = 1\n[[axis]]\nname = 'a'",
                "is a grid of settings, so it is not a scenario: `lsp-soak tune",
            ),
        ] {
            let said = said(text).unwrap_or_default();
            assert!(said.contains(words), "{said}");
        }
        for text in ["", "format = 1", "[server.a]\n[[phase]]", "[server.a", "[leek]"] {
            assert_eq!(said(text), None, "{text}");
        }
    }
}
