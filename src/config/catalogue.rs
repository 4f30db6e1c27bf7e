//! The server profiles: built-in ones, and those of `servers.toml` over them.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::decode::Document;
use super::place::{self, Place};
use super::problem::{Mistake, MistakeReport};
use super::server::{Profile, Servers, own_home};
use base::text::nearest;

const BUILT_IN: &str = include_str!("profiles.toml");

/// Profiles by name, and their origins.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalogue {
    profiles: BTreeMap<String, Profile>,
    origins: Vec<String>,
    unsure: bool,
}

impl Catalogue {
    pub fn built_in() -> Catalogue {
        let servers: Servers = place::read(BUILT_IN).expect("the built-in profiles are read in a test");
        Catalogue {
            profiles: servers.server,
            origins: vec!["the built-in profiles".to_owned()],
            unsure: false,
        }
    }

    /// Adds the readable profiles of a `servers.toml` and reports every mistake in it. A profile that inherits, or has
    /// the name of a built-in one, keeps the values that it does not set.
    pub fn with_file(mut self, path: &str, text: &str) -> (Catalogue, MistakeReport) {
        let mut report = MistakeReport::default();
        let document = match Document::parse(text) {
            Ok(document) => document,
            Err(faults) => {
                report.add(path, text, faults);
                return (self.unsure(), report);
            }
        };
        let (servers, mut faults) = document.read::<Servers>();
        self.unsure = servers.is_none();
        let servers = servers.unwrap_or_default();
        let base = base();
        for (name, profile) in &servers.server {
            self.check(name, profile, &servers, &document, &mut faults);
        }
        report.add(path, text, faults);
        let own = document.table();
        for (name, profile) in servers.server {
            let whole = whole(&name, own, &base, &mut Vec::new());
            let known = whole.contains_key("cache-env") || table(&base, root(&name, own)).is_some();
            let whole = DeValue::Table(whole);
            let mut whole = Profile::deserialize(Place::new(&whole, 0..0)).unwrap_or(profile);
            if !known {
                whole.cache_env = own_home();
            }
            self.profiles.insert(name, whole);
        }
        self.origins.insert(0, format!("`{path}`"));
        (self, report)
    }

    /// Marks that some profiles were unreadable, so that an unknown name may be one of them.
    pub fn unsure(self) -> Catalogue {
        Catalogue { unsure: true, ..self }
    }

    /// True if some profiles were unreadable.
    pub fn is_unsure(&self) -> bool {
        self.unsure
    }

    fn check(
        &self,
        name: &str,
        profile: &Profile,
        servers: &Servers,
        document: &Document<'_>,
        faults: &mut Vec<Mistake>,
    ) {
        let span = |key: &'static str| document.span(&["server".into(), name.into(), key.into()]);
        if let Some(base) = profile
            .inherits
            .as_deref()
            .filter(|base| !self.profiles.contains_key(*base) && !servers.server.contains_key(*base))
        {
            let fault = match nearest(base, self.names().chain(servers.server.keys().map(String::as_str))) {
                Some(near) => format!("did you mean `{near}`?"),
                None => String::new(),
            };
            let all = self.names().collect::<Vec<_>>().join(", ");
            let title = format!("no profile `{base}` to inherit from");
            faults.push(Mistake::new(span("inherits"), title, format!("there are {all}")).label(fault));
        }
        if in_circle(name, servers) {
            let title = format!("`{name}` inherits from itself");
            faults.push(Mistake::new(
                span("inherits"),
                title,
                "name a profile that does not start from this one",
            ));
        }
        if profile.programs.iter().any(String::is_empty) {
            faults.push(Mistake::new(
                span("programs"),
                "a program without a name",
                "name the program, or its path",
            ));
        }
    }

    pub fn get(&self, name: &str) -> Option<&Profile> {
        self.profiles.get(name)
    }

    pub fn entry(&self, name: &str) -> Option<(&str, &Profile)> {
        self.profiles
            .get_key_value(name)
            .map(|(name, profile)| (name.as_str(), profile))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Profile)> {
        self.profiles.iter().map(|(name, profile)| (name.as_str(), profile))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.profiles.keys().map(String::as_str)
    }

    /// Origins of the profiles, highest priority first.
    pub fn origins(&self) -> &[String] {
        &self.origins
    }

    /// The profile whose name or program is the longest prefix of `stem` that ends at `-`, `.` or `_`: `ty-jemalloc` is
    /// a `ty`.
    pub fn by_program(&self, stem: &str) -> Option<&str> {
        let begins = |program: &str| match stem.strip_prefix(program) {
            Some("") => true,
            Some(rest) => rest.starts_with(['-', '.', '_']),
            None => false,
        };
        self.iter()
            .flat_map(|(name, profile)| profile.programs(name).chain([name]).map(move |program| (program, name)))
            .filter(|(program, _)| begins(program))
            // Among equals, the profile named like the program.
            .max_by_key(|(program, name)| (program.len(), program == name))
            .map(|(_, name)| name)
    }
}

fn base() -> DeTable<'static> {
    let base = DeTable::parse(BUILT_IN).expect("the built-in profiles are read in a test");
    base.into_inner()
}

fn table<'t>(root: &'t DeTable<'t>, name: &str) -> Option<&'t DeTable<'t>> {
    let servers = root.get("server")?.get_ref().as_table()?;
    servers.get(name)?.get_ref().as_table()
}

/// A profile merged with everything it inherits, from its own file or the built-in ones. `seen` holds the profiles on
/// the way: a cycle is cut, and reported elsewhere.
fn whole<'t>(name: &str, own: &'t DeTable<'t>, base: &'t DeTable<'t>, seen: &mut Vec<String>) -> DeTable<'t> {
    let Some(over) = table(own, name) else {
        return table(base, name).cloned().unwrap_or_default();
    };
    seen.push(name.to_owned());
    let Some(parent) = text(over, "inherits") else {
        return table(base, name).map_or_else(|| over.clone(), |under| merge(under, over));
    };
    let under = if seen.iter().any(|known| known == parent) {
        table(base, parent).cloned().unwrap_or_default()
    } else {
        whole(parent, own, base, seen)
    };
    let mut merged = merge(&under, over);
    // The program defaults to the name of the inherited profile.
    let named = merged
        .get("programs")
        .and_then(|programs| programs.get_ref().as_array());
    if named.is_none_or(|named| named.is_empty()) {
        let programs: DeArray<'_> = [unplaced(DeValue::String(parent.into()))].into_iter().collect();
        merged.insert(unplaced("programs".into()), unplaced(DeValue::Array(programs)));
    }
    merged
}

fn text<'t>(table: &'t DeTable<'t>, key: &str) -> Option<&'t str> {
    table.get(key)?.get_ref().as_str()
}

fn unplaced<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

/// The last profile of a chain of inheritance.
fn root<'t>(name: &'t str, own: &'t DeTable<'t>) -> &'t str {
    let mut root = name;
    // A chain longer than the file is a cycle.
    for _ in 0..=own
        .get("server")
        .and_then(|servers| servers.get_ref().as_table())
        .map_or(0, DeTable::len)
    {
        let parent = table(own, root).and_then(|profile| text(profile, "inherits"));
        match parent {
            Some(parent) => root = parent,
            None => break,
        }
    }
    root
}

/// True if a chain of inheritance is a cycle. Inheriting from the built-in profile of the same name is none.
fn in_circle(name: &str, servers: &Servers) -> bool {
    let parent = |name: &str| servers.server.get(name)?.inherits.as_deref();
    let mut at = parent(name).filter(|parent| *parent != name);
    for _ in 0..=servers.server.len() {
        match at {
            Some(found) if found == name => return true,
            Some(found) => at = parent(found).filter(|parent| *parent != found),
            None => return false,
        }
    }
    false
}

/// Merges `over` into `under`, nested tables included, but not tables with exactly one key.
fn merge<'t>(under: &DeTable<'t>, over: &DeTable<'t>) -> DeTable<'t> {
    let mut merged = under.clone();
    for (key, value) in over {
        let is_whole = ["signal", "allocator"].contains(&key.get_ref().as_ref());
        let below = under.get(key).map(Spanned::get_ref);
        let value = match (below, value.get_ref()) {
            (Some(DeValue::Table(under)), DeValue::Table(over)) if !is_whole => {
                unplaced(DeValue::Table(merge(under, over)))
            }
            _ => value.clone(),
        };
        merged.insert(key.clone(), value);
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Readiness, Signal};
    use base::units::Span;

    fn over(text: &str) -> Catalogue {
        let (catalogue, report) = Catalogue::built_in().with_file("servers.toml", text);
        assert!(report.is_empty(), "{report}");
        catalogue
    }

    #[test]
    fn the_built_in_profiles_are_without_mistakes() {
        let (_, report) = Catalogue::built_in().with_file("profiles.toml", BUILT_IN);
        assert!(report.is_empty(), "{report}");
        for (name, profile) in Catalogue::built_in().iter() {
            assert!(
                !profile.languages.is_empty() || !profile.build.is_empty(),
                "{name} is for no language"
            );
        }
    }

    #[test]
    fn a_profile_keeps_what_it_does_not_say() {
        let catalogue = over(
            r#"
            [server.gopls]
            args = ["-rpc.trace"]
            settings = { gopls = { staticcheck = true } }
            ready.signal.notification = { method = "x/ready" }

            [server.my-rust]
            inherits = "rust-analyzer"
            programs = ["/opt/my/rust-analyzer"]
            ready.limits = { quiet = "9s" }

            [server.gopls-lean]
            inherits = "gopls"

            [server.mine]
            args = ["--stdio"]
            "#,
        );
        let gopls = catalogue.get("gopls").unwrap();
        assert_eq!(gopls.args, ["-rpc.trace"]);
        assert_eq!(
            gopls.settings,
            Some(serde_json::json!({ "gopls": { "staticcheck": true, "verboseWorkDoneProgress": true } }))
        );
        assert!(matches!(gopls.ready.signal, Some(Signal::Notification(_))));
        let rust = catalogue.get("my-rust").unwrap();
        assert_eq!(rust.languages, ["rust"]);
        assert_eq!(catalogue.get("gopls-lean").unwrap().programs, ["gopls"]);
        let limits = Readiness {
            quiet: Some(Span::from_secs(9)),
            ..catalogue.get("rust-analyzer").unwrap().ready.limits
        };
        assert_eq!(rust.ready.limits, limits);
        assert_eq!(catalogue.get("mine").unwrap().args, ["--stdio"]);
        assert_eq!(catalogue.origins(), ["`servers.toml`", "the built-in profiles"]);
    }

    #[test]
    fn a_profile_inherits_from_another_of_its_file() {
        let catalogue = over(
            r#"
            [server.lean]
            inherits = "mine"
            env = { A = "1" }

            [server.mine]
            inherits = "gopls"
            args = ["-rpc.trace"]

            [server.plain]
            args = ["--stdio"]

            [server.plainer]
            inherits = "plain"

            [server.bare]
            cache-env = {}
            "#,
        );
        let lean = catalogue.get("lean").unwrap();
        assert_eq!(
            (lean.languages.as_slice(), lean.args.as_slice()),
            (&["go".to_owned()][..], &["-rpc.trace".to_owned()][..])
        );
        assert_eq!(
            (lean.programs.as_slice(), lean.env["A"].as_str()),
            (&["gopls".to_owned()][..], "1")
        );
        let plainer = catalogue.get("plainer").unwrap();
        assert_eq!(
            (plainer.programs.as_slice(), plainer.args.as_slice()),
            (&["plain".to_owned()][..], &["--stdio".to_owned()][..])
        );
        // A profile without a built-in one gets its own home by default.
        assert_eq!(lean.cache_env, catalogue.get("gopls").unwrap().cache_env);
        assert!(
            plainer.cache_env.contains_key("HOME") && catalogue.get("plain").unwrap().cache_env.contains_key("HOME")
        );
        assert!(catalogue.get("bare").unwrap().cache_env.is_empty());
        let circle = "[server.a]\ninherits = \"b\"\n[server.b]\ninherits = \"a\"\n";
        let (_, report) = Catalogue::built_in().with_file("servers.toml", circle);
        assert!(report.to_string().contains("`a` inherits from itself"), "{report}");
    }

    #[test]
    fn mistakes_in_a_servers_file_are_all_told() {
        let text = r#"
[server.a]
inherits = "gopsl"
argz = ["x"]
programs = [""]
[server.b]
ready = { signal = { beep = {} }, limits = { quiet = "soon" } }
failures = [{ notification = {} }]
"#;
        let (catalogue, report) = Catalogue::built_in().with_file("servers.toml", text);
        assert!(catalogue.get("a").is_some() && !catalogue.is_unsure());
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(report) });
    }

    #[test]
    fn a_program_has_the_profile_of_the_longest_name_it_begins_with() {
        let catalogue = over("[server.ty-pre]\nargs = []");
        for (stem, profile) in [
            ("ty", Some("ty")),
            ("ty-jemalloc", Some("ty")),
            ("ty-pre", Some("ty-pre")),
            ("ty-pre-2", Some("ty-pre")),
            ("clangd-16", Some("clangd")),
            ("pyright-langserver", Some("pyright")),
            ("basedpyright-langserver", Some("basedpyright")),
            ("rust-analyzer.old", Some("rust-analyzer")),
            ("tyx", None),
            ("cat", None),
        ] {
            assert_eq!(catalogue.by_program(stem), profile, "{stem}");
        }
    }
}
