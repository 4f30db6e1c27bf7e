//! The formats that people write, and files of another one where a scenario is asked for.

use strum::IntoStaticStr;

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

    /// Its name, which is that of the schema's file too.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Keys at the top of files of one format that no other has.
const KEYS: [(Kind, &[&str]); 3] = [
    (Kind::Servers, &["server"]),
    (Kind::Gate, &["endpoint", "budgets", "leak", "work"]),
    (Kind::Grid, &["axis", "cell"]),
];

/// Keys that make it a scenario, whatever else stands there by mistake.
const OWN: [&str; 3] = ["phase", "workspace", "include"];

/// What the file at `path` is, and which command reads and checks it; `None` of a scenario, and of what nobody can tell.
pub fn no_scenario(path: &str, text: &str) -> Option<(String, String)> {
    let table: toml::Table = text.parse().ok()?;
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
