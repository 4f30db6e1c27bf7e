//! The allocator of a program, for people and for programs.

use serde::Serialize;

use analysis::findings::setting;
use record::{AllocatorFacts, AllocatorFamily, KnobFacts, ServerFacts};

use crate::document::{Block, Document, Section, Weight};
use base::text::table::Table;

/// The facts about a program's allocator.
pub fn document(shown: &str, facts: &AllocatorFacts, knobs: &[KnobFacts]) -> Document {
    let mut evidence: Vec<(&str, String)> = Vec::new();
    for (name, value) in [
        ("version", &facts.version),
        ("prefix", &facts.prefix),
        ("reads", &facts.variable),
        ("built with", &facts.baked),
        ("beside it", &facts.beside),
    ] {
        if let Some(value) = value
            && !value.is_empty()
        {
            evidence.push((name, value.clone()));
        }
    }
    evidence.extend(settings_and_observations(knobs, facts));
    let options = options(facts);
    let table = Table::new(&options)
        .text("option", 0, |(name, _)| *name)
        .text("in force", 0, |(_, value)| value);
    let evidence = Section::new("known", "Evidence", Weight::Answer).with_block(Block::facts("Evidence", evidence));
    let options = Section::new("options", "Options in force", Weight::Answer).with_all(table.non_empty());
    Document {
        title: format!("{shown}: {}", with_version(facts)),
        origin: String::new(),
        headline: None,
        verdict: Vec::new(),
        sections: [evidence, options]
            .into_iter()
            .filter_map(Section::unless_empty)
            .collect(),
    }
}

fn settings_and_observations<'f>(
    knobs: &'f [KnobFacts],
    facts: &'f AllocatorFacts,
) -> impl Iterator<Item = (&'f str, String)> {
    let settings = knobs.iter().map(|knob| ("setting", setting(knob)));
    let observations = facts
        .evidence
        .iter()
        .map(|evidence| (evidence.source.as_str(), evidence.saw.clone()));
    settings.chain(observations)
}

fn with_version(facts: &AllocatorFacts) -> String {
    match facts.confidence {
        Some(confidence) => format!("{facts} ({})", confidence.name()),
        None => headline(facts),
    }
}

pub(crate) fn headline(facts: &AllocatorFacts) -> String {
    match facts.confidence {
        Some(confidence) => format!("{} ({})", facts.family, confidence.name()),
        None => format!("{}: no evidence", AllocatorFamily::Unknown),
    }
}

/// The short version that the allocator reports, else that of the preloaded library or of its package.
pub(crate) fn version(server: &ServerFacts, facts: &AllocatorFacts) -> Option<String> {
    if let Some(version) = facts.short_version() {
        return Some(version.to_owned());
    }
    let preload = server.preload.as_ref()?;
    if preload.family == facts.family {
        preload.known_version()
    } else {
        None
    }
}

/// The preloaded library and its origin; empty if none.
pub(crate) fn preloaded(server: &ServerFacts) -> String {
    let Some(preload) = &server.preload else {
        return String::new();
    };
    let package = preload.package.as_ref().map(|package| format!(" of {package}"));
    let hash = preload.sha256.as_ref().map(|hash| format!(", SHA-256 {hash}"));
    format!(
        "{}{}{}",
        preload.path,
        package.unwrap_or_default(),
        hash.unwrap_or_default()
    )
}

/// The evidence: preloads, settings and observations, each with its source.
pub(crate) fn evidence<'f>(server: &'f ServerFacts, facts: &'f AllocatorFacts) -> Vec<(&'f str, String)> {
    let mut evidence = Vec::new();
    let preloaded = preloaded(server);
    if !preloaded.is_empty() {
        evidence.push(("preloaded", preloaded));
    }
    evidence.extend(settings_and_observations(&server.knobs, facts));
    evidence
}

/// The options in force that affect memory.
pub(crate) fn options(facts: &AllocatorFacts) -> Vec<(&str, String)> {
    let options = facts.options.iter().filter(|(name, _)| affects_memory(name));
    options.map(|(name, value)| (name.as_str(), value.clone())).collect()
}

/// False for options that the detection itself sets to ask the allocator, and for deprecated ones.
fn affects_memory(name: &str) -> bool {
    ![
        "stats_print", "stats_print_opts", "confirm_conf", "verbose", "show_stats", "show_errors",
    ]
    .contains(&name)
        && !name.starts_with("deprecated_")
}

pub fn json(shown: &str, facts: &AllocatorFacts, knobs: &[KnobFacts]) -> serde_json::Result<String> {
    let detected = Detected {
        program: shown,
        allocator: facts,
        knobs,
    };
    Ok(format!("{}\n", serde_json::to_string_pretty(&detected)?))
}

#[derive(Serialize)]
struct Detected<'f> {
    program: &'f str,
    allocator: &'f AllocatorFacts,
    knobs: &'f [KnobFacts],
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::document::{Look, terminal};
    use record::{Confidence, Evidence, PreloadFacts};

    pub fn detected() -> (AllocatorFacts, Vec<KnobFacts>) {
        let facts = AllocatorFacts {
            family: AllocatorFamily::Jemalloc,
            version: Some("5.3.0-1-ge13ca993e8ccb9ba9847cc330696e02839f328f7".to_owned()),
            prefix: Some("_rjem_".to_owned()),
            variable: Some("_RJEM_MALLOC_CONF".to_owned()),
            baked: Some("background_thread:true".to_owned()),
            options: [("dirty_decay_ms", "0"), ("narenas", "8"), ("stats_print", "true")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            beside: None,
            confidence: Some(Confidence::Certain),
            evidence: vec![
                evidence("probe", "jemalloc 5.3.0-1-ge13ca993 answered through _RJEM_MALLOC_CONF"),
                evidence("libraries", "linked with glibc 2.36, imports malloc, realloc"),
            ],
        };
        let knobs = vec![
            knob("dirty_decay_ms", "0", "0"),
            knob("tcache_max", "99999999999", "8388608"),
        ];
        (facts, knobs)
    }

    fn evidence(source: &str, saw: &str) -> Evidence {
        Evidence {
            source: source.to_owned(),
            saw: saw.to_owned(),
        }
    }

    fn knob(option: &str, requested: &str, effective: &str) -> KnobFacts {
        KnobFacts {
            variable: "_RJEM_MALLOC_CONF".to_owned(),
            option: Some(option.to_owned()),
            requested: requested.to_owned(),
            effective: Some(effective.to_owned()),
            seen: Some("its statistics".to_owned()),
            taken: Some(requested == effective),
        }
    }

    #[test]
    fn what_was_found_in_a_terminal() {
        let (facts, knobs) = detected();
        let look = Look {
            columns: 80,
            color: false,
            ascii: false,
            details: true,
        };
        let text = terminal::render(&document("/opt/bin/ty", &facts, &knobs), look);
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(text) });
    }

    #[test]
    fn long_names_of_options_have_their_values_under_each_other() {
        let facts = AllocatorFacts {
            family: AllocatorFamily::Glibc,
            options: [
                ("glibc.malloc.arena_max", "2"),
                ("glibc.malloc.tcache_unsorted_limit", "no limit (default)"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
            ..AllocatorFacts::default()
        };
        let look = Look {
            columns: 80,
            color: false,
            ascii: false,
            details: true,
        };
        let text = terminal::render(&document("/usr/bin/clangd", &facts, &[]), look);
        let [short, long] = [" 2", " no limit"].map(|value| text.lines().find_map(|line| line.find(value)));
        assert_eq!(short, long);
    }

    #[test]
    fn what_was_found_for_programs_is_all_of_it() {
        let (facts, knobs) = detected();
        let text = json("/opt/bin/ty", &facts, &knobs).unwrap();
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(text) });
    }

    #[test]
    fn a_version_is_said_in_one_way_whoever_says_it() {
        let (facts, _) = detected();
        let mut server = ServerFacts::default();
        assert_eq!(version(&server, &facts).as_deref(), Some("5.3.0"));
        let silent = AllocatorFacts { version: None, ..facts };
        assert_eq!(version(&server, &silent), None);
        server.preload = Some(PreloadFacts {
            family: AllocatorFamily::Jemalloc,
            package: Some("libjemalloc2 5.3.0-1".to_owned()),
            ..PreloadFacts::default()
        });
        assert_eq!(version(&server, &silent).as_deref(), Some("5.3.0-1"));
    }
}
