//! The settings of the purged lens, which make each allocator release freed memory at once.

use std::collections::BTreeMap;

use crate::config::{Allocator, Total};
use allocator::knobs::purge_delay;
use base::lens::Lens;
use record::{AllocatorFacts, AllocatorFamily, Confidence, KnobFacts};

use super::choice::{Collector, Program, ServerChoice, Setting, Shim};
use super::shim::NODE_OPTIONS;

/// jemalloc's options; later ones win.
const JEMALLOC: &str = "background_thread:true,dirty_decay_ms:0,muzzy_decay_ms:0";

/// mimalloc's default option.
const MIMALLOC: &str = "MIMALLOC_PURGE_DELAY";

/// The nearest on glibc: one arena, trimmed at every free, and mappings for large blocks.
const GLIBC: [(&str, &str); 3] = [
    ("MALLOC_ARENA_MAX", "1"),
    ("MALLOC_TRIM_THRESHOLD_", "0"),
    ("MALLOC_MMAP_THRESHOLD_", "65536"),
];

/// Go's soft limit: below it the runtime gives back what it has collected, at once.
const GO: (&str, &str) = ("GOMEMLIMIT", "1");

/// The reason why the garbage of a runtime cannot be collected.
const UNCOLLECTED: &str =
    "whose garbage only the server can collect: its profile has no `self-report` with `releases = true`";

/// The reason why the garbage of a Java runtime without a JDK's tools cannot be collected.
const NO_JCMD: &str =
    "whose garbage is collected by `jcmd`, which a JDK has beside its `java` and this installation has not";

/// The reason why a server cannot be measured through the purged lens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PurgeError {
    /// The linked C library is unknown.
    #[error(
        "the allocator of `{0}` is not known, so its purge setting is not known either: name the allocator in its \
         profile, `allocator = {{ linked = \"jemalloc\" }}`, or use --lens as-shipped"
    )]
    Unknown(String),
    /// It has no purge setting.
    #[error("`{label}` uses {allocator}, {why}: use --lens as-shipped")]
    NoSetting {
        label: String,
        allocator: String,
        why: &'static str,
    },
    /// The lens is for versions of one server.
    #[error(
        "`{}` uses {} and `{}` {}: allocators told to purge say nothing of how they compare as they are; use --lens \
         as-shipped",
        first.0, first.1, second.0, second.1
    )]
    Unlike {
        first: (String, String),
        second: (String, String),
    },
}

/// The servers with purging allocators, or every reason why that is impossible. `shim` gives the library for a server
/// without a purge setting, unless it cannot be preloaded.
pub fn purged(
    choices: &[ServerChoice],
    shim: impl Fn(&ServerChoice) -> Option<Shim>,
) -> Result<Vec<ServerChoice>, Vec<PurgeError>> {
    let mut purged = Vec::new();
    let mut errors = Vec::new();
    for choice in choices {
        match purge(choice, &shim) {
            Ok(choice) => purged.push(choice),
            Err(error) => errors.push(error),
        }
    }
    if let Some(first) = purged.first() {
        let family = used_family(first);
        if let Some(other) = purged.iter().find(|other| used_family(other) != family) {
            errors.push(PurgeError::Unlike {
                first: label_and_allocator(first),
                second: label_and_allocator(other),
            });
        }
    }
    if errors.is_empty() { Ok(purged) } else { Err(errors) }
}

fn used_family(choice: &ServerChoice) -> Option<AllocatorFamily> {
    used(choice).map(|used| used.family)
}

fn label_and_allocator(choice: &ServerChoice) -> (String, String) {
    (choice.label.clone(), choice.lens.allocator.clone().unwrap_or_default())
}

fn purge(choice: &ServerChoice, shim: impl Fn(&ServerChoice) -> Option<Shim>) -> Result<ServerChoice, PurgeError> {
    let Used {
        name,
        family,
        preloaded,
    } = used(choice).ok_or_else(|| PurgeError::Unknown(choice.label.clone()))?;
    let detected = choice.found.as_ref().filter(|facts| facts.family == family);
    let own_command = collector(choice, family);
    // Several kinds of memory that the C library keeps are out of reach of its settings, and none of its own program's.
    let forced = match family {
        AllocatorFamily::Glibc => choice.shim.clone().or_else(|| shim(choice)),
        AllocatorFamily::V8 if own_command.is_none() && runs_node(detected) => Some(Shim::Node),
        _ => None,
    };
    let collected_by = own_command.or(match family {
        AllocatorFamily::V8 if forced.is_some() => Some(Collector::Node),
        AllocatorFamily::Jvm if cfg!(target_os = "linux") && !is_bare_java(choice) => Some(Collector::Java),
        _ => None,
    });
    let (env, approximate) = match family {
        AllocatorFamily::Go if collected_by.is_some() => (variables(&[GO]), false),
        _ if collected_by.is_some() => (BTreeMap::new(), false),
        AllocatorFamily::Glibc if forced.is_some() => (BTreeMap::new(), false),
        AllocatorFamily::Jemalloc => {
            let (variable, options) = jemalloc(choice, detected, preloaded || name.contains("unprefixed"));
            (variables(&[(variable, &options)]), false)
        }
        AllocatorFamily::Mimalloc => {
            let options = detected.map(|facts| &facts.options);
            let variable = options.map_or_else(|| MIMALLOC.to_owned(), purge_delay);
            (variables(&[(&variable, "0")]), false)
        }
        AllocatorFamily::Glibc => (variables(&GLIBC), true),
        AllocatorFamily::Jvm if cfg!(target_os = "linux") => return Err(no_setting(choice, &name, NO_JCMD)),
        AllocatorFamily::Go | AllocatorFamily::V8 | AllocatorFamily::Jvm => {
            return Err(no_setting(choice, &name, UNCOLLECTED));
        }
        _ if name == "system" => return Err(no_setting(choice, &name, "which has no purge setting here")),
        _ => return Err(no_setting(choice, &name, "which has no known purge setting")),
    };
    let mut purged = choice.clone();
    purged.env.extend(env.clone());
    purged.lens = Setting {
        lens: Lens::Purged,
        allocator: Some(name),
        env,
        approximate,
        forced: forced.is_some() && collected_by.is_none(),
        without_live: reports_nothing(choice, collected_by.as_ref()),
        collected_by,
    };
    purged.shim = forced.or(purged.shim);
    Ok(purged)
}

fn no_setting(choice: &ServerChoice, allocator: &str, why: &'static str) -> PurgeError {
    PurgeError::NoSetting {
        label: choice.label.clone(),
        allocator: allocator.to_owned(),
        why,
    }
}

fn variables(settings: &[(&str, &str)]) -> BTreeMap<String, String> {
    settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// The server for scenarios that collect garbage before each checkpoint, as shipped: a Go runtime that its own command
/// collects returns freed memory at once, or its growth would be that of free pages. `None` of others.
pub fn collecting(choice: &ServerChoice) -> Option<ServerChoice> {
    let used = used(choice)?;
    if used.family != AllocatorFamily::Go || choice.lens != Setting::default() {
        return None;
    }
    let collected_by = collector(choice, used.family)?;
    let (variable, value) = GO;
    let mut collecting = choice.clone();
    collecting.env.entry(variable.to_owned()).or_insert(value.to_owned());
    collecting.lens = Setting {
        allocator: Some(used.name),
        env: [(variable.to_owned(), collecting.env[variable].clone())].into(),
        without_live: reports_nothing(choice, Some(&collected_by)),
        collected_by: Some(collected_by),
        ..Setting::default()
    };
    Some(collecting)
}

/// The variable that jemalloc reads, and its options after the server's own. Built as a crate it has a prefix and reads a
/// variable of its own.
fn jemalloc<'c>(choice: &ServerChoice, detected: Option<&'c AllocatorFacts>, is_plain: bool) -> (&'c str, String) {
    let usual = if is_plain { "MALLOC_CONF" } else { "_RJEM_MALLOC_CONF" };
    let variable = detected.and_then(|facts| facts.variable.as_deref()).unwrap_or(usual);
    let options = match choice.env.get(variable) {
        Some(own) if !own.is_empty() => format!("{own},{JEMALLOC}"),
        _ => JEMALLOC.to_owned(),
    };
    (variable, options)
}

/// The command by which a server collects its own garbage, where no allocator can purge.
fn collector(choice: &ServerChoice, family: AllocatorFamily) -> Option<Collector> {
    let is_collected = matches!(family, AllocatorFamily::Go | AllocatorFamily::V8 | AllocatorFamily::Jvm);
    if !is_collected {
        return None;
    }
    let report = choice.profile.self_report.as_ref()?;
    // Freed memory of Go leaves the process by a setting. Of another runtime only a report tells it from live memory.
    let tells_live_memory = report.total != Total::None || family == AllocatorFamily::Go;
    if report.releases && tells_live_memory {
        return Some(Collector::Command(report.ask.name().to_owned()));
    }
    None
}

/// True if the collector says nothing of live memory.
fn reports_nothing(choice: &ServerChoice, collector: Option<&Collector>) -> bool {
    let report = choice.profile.self_report.as_ref();
    matches!(collector, Some(Collector::Command(_))) && report.is_some_and(|report| report.total == Total::None)
}

/// True if the program is a Java launcher without the tools of a JDK. What a script starts is known in the run only.
fn is_bare_java(choice: &ServerChoice) -> bool {
    let Program::File(program) = &choice.program else {
        return false;
    };
    let program = program.canonicalize().unwrap_or_else(|_| program.clone());
    program.file_stem().is_some_and(|stem| stem == "java") && !program.with_file_name("jcmd").exists()
}

/// True if V8 is that of Node.js, which loads a script of ours. Of other programs with V8 the variable is known.
fn runs_node(detected: Option<&AllocatorFacts>) -> bool {
    let variable = detected.and_then(|facts| facts.variable.as_deref());
    cfg!(target_os = "linux") && variable.is_none_or(|variable| variable == NODE_OPTIONS)
}

/// The allocator that a server's purge settings are for.
struct Used {
    /// As the profile names it, or as it was found.
    name: String,
    family: AllocatorFamily,
    preloaded: bool,
}

/// The preload, else the profile's, else the detected one unless it is a guess.
fn used(choice: &ServerChoice) -> Option<Used> {
    if let Some(family) = choice.preload.family()
        && family != AllocatorFamily::Unknown
    {
        return Some(Used {
            name: family.name().to_owned(),
            family,
            preloaded: true,
        });
    }
    if let Some(Allocator::Linked(name)) = &choice.profile.allocator {
        return Some(Used {
            name: name.clone(),
            family: AllocatorFamily::from_word(name),
            preloaded: false,
        });
    }
    let detected = choice.found.as_ref()?;
    if detected.confidence? <= Confidence::Guess || detected.family == AllocatorFamily::Unknown {
        return None;
    }
    // CPython's own allocator keeps no empty arena; freed memory stays in the C library.
    let is_over_libc = detected
        .beside
        .as_ref()
        .is_some_and(|beside| beside.starts_with(AllocatorFamily::Glibc.name()));
    let family = match detected.family {
        AllocatorFamily::Pymalloc if is_over_libc => AllocatorFamily::Glibc,
        other => other,
    };
    Some(Used {
        name: family.name().to_owned(),
        family,
        preloaded: false,
    })
}

/// True if the lens sets this, in a variable that it sets or adds to: all of it, but of jemalloc's options only those that the
/// lens adds.
pub fn is_lens_option(knob: &KnobFacts) -> bool {
    let mut added = JEMALLOC.split(',').filter_map(|pair| pair.split_once(':'));
    match &knob.option {
        Some(option) if knob.variable.ends_with("MALLOC_CONF") => added.any(|(name, _)| name == option),
        Some(_) | None => true,
    }
}

/// True if the allocator purges only on activity, so that an idle window shows no release.
pub fn needs_traffic(choice: &ServerChoice) -> bool {
    let allocator = choice.lens.allocator.as_deref();
    allocator.is_some_and(|name| name.to_ascii_lowercase().contains("mimalloc"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::{Profile, Question, SelfReport};
    use crate::resolve::Program;
    use record::AllocatorFacts;

    fn server(label: &str, allocator: Option<Allocator>, env: &[(&str, &str)]) -> ServerChoice {
        let env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let profile = Profile {
            allocator,
            env: env.collect(),
            ..Profile::default()
        };
        ServerChoice::plain(label, profile, Program::File(PathBuf::from("server")))
    }

    fn linked(label: &str, allocator: &str) -> ServerChoice {
        server(label, Some(Allocator::Linked(allocator.to_owned())), &[])
    }

    fn purged_without_library(choices: &[ServerChoice]) -> Result<Vec<ServerChoice>, Vec<PurgeError>> {
        purged(choices, |_| None)
    }

    #[test]
    fn jemalloc_is_told_after_what_was_asked_for_in_the_variable_that_it_reads() {
        let own = [("_RJEM_MALLOC_CONF", "narenas:1,dirty_decay_ms:9")];
        let rust = server("a", Some(Allocator::Linked("jemalloc".to_owned())), &own);
        let purged = &purged_without_library(&[rust]).unwrap()[0];
        assert_eq!(
            purged.env["_RJEM_MALLOC_CONF"],
            format!("narenas:1,dirty_decay_ms:9,{JEMALLOC}")
        );
        let mut preloaded = linked("a", "system");
        preloaded.preload = "/opt/lib/libjemalloc.so.2".parse().unwrap();
        assert_eq!(
            purged_without_library(&[preloaded]).unwrap()[0].env["MALLOC_CONF"],
            JEMALLOC
        );
        let plain = &purged_without_library(&[linked("a", "jemalloc-unprefixed")]).unwrap()[0];
        assert_eq!(plain.lens.env, [("MALLOC_CONF".to_owned(), JEMALLOC.to_owned())].into());
        assert!(!plain.lens.approximate && plain.lens.lens == Lens::Purged);
    }

    #[test]
    fn mimalloc_purges_only_while_it_is_called() {
        let purged = &purged_without_library(&[linked("a", "mimalloc")]).unwrap()[0];
        assert_eq!(purged.env["MIMALLOC_PURGE_DELAY"], "0");
        assert!(needs_traffic(purged) && !needs_traffic(&linked("a", "mimalloc")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_c_library_only_comes_near() {
        let purged = &purged_without_library(&[linked("a", "system")]).unwrap()[0];
        assert!(purged.lens.approximate && purged.env["MALLOC_ARENA_MAX"] == "1");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn with_the_library_the_c_library_gives_back_all_that_it_can_and_no_setting_is_needed() {
        let library = || Some(Shim::File(PathBuf::from("libpurge_shim.so")));
        let forced = &purged(&[linked("a", "system")], |_| library()).unwrap()[0];
        assert!(forced.lens.forced && !forced.lens.approximate && forced.lens.env.is_empty());
        assert_eq!(forced.shim, library());
        // The others have settings and need no forced release.
        let jemalloc = &purged(&[linked("a", "jemalloc")], |_| library()).unwrap()[0];
        assert!(!jemalloc.lens.forced && jemalloc.shim.is_none());
    }

    fn refusal(choice: &ServerChoice) -> String {
        purged_without_library(std::slice::from_ref(choice)).unwrap_err()[0].to_string()
    }

    fn mem_stats(total: Total, releases: bool) -> SelfReport {
        SelfReport {
            ask: Question::Command("gopls.mem_stats".to_owned()),
            total,
            releases,
            destructive: false,
        }
    }

    #[test]
    fn garbage_is_collected_by_the_servers_own_command() {
        let mut gopls = detected_server("gopls", AllocatorFamily::Go, "", Confidence::Certain);
        assert!(refusal(&gopls).contains("self-report"), "{}", refusal(&gopls));
        gopls.profile.self_report = Some(mem_stats(Total::HeapAlloc, false));
        assert!(refusal(&gopls).contains("self-report"));
        gopls.profile.self_report = Some(mem_stats(Total::None, true));
        let purged = &purged_without_library(std::slice::from_ref(&gopls)).unwrap()[0];
        assert!(purged.lens.collected_by.is_some() && purged.lens.without_live);
        assert_eq!(purged.env["GOMEMLIMIT"], "1");
        gopls.profile.self_report = Some(mem_stats(Total::HeapAlloc, true));
        let purged = &purged_without_library(&[gopls]).unwrap()[0];
        let command = Collector::Command("gopls.mem_stats".to_owned());
        assert_eq!(purged.lens.collected_by, Some(command));
        assert!(!purged.lens.without_live);
        assert_eq!(purged.env["GOMEMLIMIT"], "1");
        // Freed memory of an allocator with a setting is not garbage.
        let mut jemalloc = linked("a", "jemalloc");
        jemalloc.profile.self_report = Some(mem_stats(Total::HeapAlloc, true));
        assert_eq!(purged_without_library(&[jemalloc]).unwrap()[0].lens.collected_by, None);
    }

    #[test]
    fn a_go_server_that_collects_as_shipped_returns_freed_memory_at_once() {
        let mut tsgo = linked("tsgo", "go");
        assert!(collecting(&tsgo).is_none(), "it has no command");
        tsgo.profile.self_report = Some(SelfReport {
            ask: Question::Request("custom/runGC".to_owned()),
            total: Total::None,
            releases: true,
            destructive: false,
        });
        let collected = collecting(&tsgo).unwrap();
        assert_eq!(
            (collected.lens.lens, &*collected.env["GOMEMLIMIT"]),
            (Lens::AsShipped, "1")
        );
        assert_eq!(
            collected.lens.collected_by,
            Some(Collector::Command("custom/runGC".to_owned()))
        );
        tsgo.env.insert("GOMEMLIMIT".to_owned(), "2GiB".to_owned());
        assert_eq!(collecting(&tsgo).unwrap().env["GOMEMLIMIT"], "2GiB");
        let purged = &purged_without_library(&[tsgo]).unwrap()[0];
        assert!(collecting(purged).is_none(), "the lens does it already");
    }

    #[cfg(target_os = "linux")]
    fn purged_runtime(family: AllocatorFamily, variable: &str) -> Result<Vec<ServerChoice>, Vec<PurgeError>> {
        purged_without_library(&[detected_server("a", family, variable, Confidence::Certain)])
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn node_and_java_collect_without_a_command_of_the_server() {
        let node = &purged_runtime(AllocatorFamily::V8, "NODE_OPTIONS").unwrap()[0];
        assert_eq!(
            (&node.lens.collected_by, &node.shim),
            (&Some(Collector::Node), &Some(Shim::Node))
        );
        assert!(!node.lens.forced && node.lens.env.is_empty());
        let java = &purged_runtime(AllocatorFamily::Jvm, "JAVA_TOOL_OPTIONS").unwrap()[0];
        assert_eq!((&java.lens.collected_by, &java.shim), (&Some(Collector::Java), &None));
        let deno = purged_runtime(AllocatorFamily::V8, "DENO_V8_FLAGS").unwrap_err();
        assert!(deno[0].to_string().contains("self-report"), "{deno:?}");
    }

    #[test]
    fn an_allocator_that_nobody_knows_is_refused_with_the_cure() {
        let refused = purged_without_library(&[server("mine", None, &[]), linked("other", "snmalloc")]).unwrap_err();
        let text: Vec<String> = refused.iter().map(ToString::to_string).collect();
        assert!(
            text[0].contains("`mine`") && text[0].contains("allocator = { linked ="),
            "{text:?}"
        );
        assert!(
            text[1].contains("snmalloc") && text[1].ends_with("use --lens as-shipped"),
            "{text:?}"
        );
    }

    fn detected_server(label: &str, family: AllocatorFamily, variable: &str, confidence: Confidence) -> ServerChoice {
        let mut choice = server(label, None, &[]);
        choice.found = Some(AllocatorFacts {
            family,
            variable: Some(variable.to_owned()),
            confidence: Some(confidence),
            ..AllocatorFacts::default()
        });
        choice
    }

    #[test]
    fn what_was_found_is_told_in_its_own_variable_and_the_profile_wins_over_it() {
        let mut plain = detected_server("a", AllocatorFamily::Jemalloc, "MALLOC_CONF", Confidence::Certain);
        let purged = &purged_without_library(&[plain.clone()]).unwrap()[0];
        assert_eq!(
            purged.lens.env,
            [("MALLOC_CONF".to_owned(), JEMALLOC.to_owned())].into()
        );
        plain.profile.allocator = Some(Allocator::Linked("mimalloc".to_owned()));
        let purged = &purged_without_library(&[plain]).unwrap()[0];
        assert_eq!(purged.lens.env["MIMALLOC_PURGE_DELAY"], "0");
    }

    #[test]
    fn an_old_mimalloc_is_told_by_the_name_that_it_knows() {
        let mut old = detected_server("a", AllocatorFamily::Mimalloc, "MIMALLOC_*", Confidence::Certain);
        let facts = old.found.as_mut().unwrap();
        facts.options = [("decommit_delay".to_owned(), "25".to_owned())].into();
        let purged = &purged_without_library(&[old]).unwrap()[0];
        assert_eq!(
            purged.lens.env,
            [("MIMALLOC_DECOMMIT_DELAY".to_owned(), "0".to_owned())].into()
        );
    }

    #[test]
    fn what_the_user_asked_for_in_the_same_variable_is_not_the_lens() {
        for (variable, option, is_of_lens) in [
            ("_RJEM_MALLOC_CONF", Some("dirty_decay_ms"), true),
            ("_RJEM_MALLOC_CONF", Some("narenas"), false),
            ("MALLOC_ARENA_MAX", None, true),
        ] {
            let knob = KnobFacts {
                variable: variable.to_owned(),
                option: option.map(str::to_owned),
                ..KnobFacts::default()
            };
            assert_eq!(is_lens_option(&knob), is_of_lens, "{variable}");
        }
    }

    #[test]
    fn a_guess_is_not_told_anything() {
        let guess = detected_server("a", AllocatorFamily::Jemalloc, "MALLOC_CONF", Confidence::Guess);
        assert_eq!(
            purged_without_library(&[guess]).unwrap_err(),
            [PurgeError::Unknown("a".to_owned())]
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_java_runtime_without_its_tools_is_refused() {
        let bin = tempfile::tempdir().unwrap();
        let java = ServerChoice {
            program: Program::File(bin.path().join("java")),
            ..detected_server("java", AllocatorFamily::Jvm, "JAVA_TOOL_OPTIONS", Confidence::Certain)
        };
        let refused = purged_without_library(std::slice::from_ref(&java)).unwrap_err();
        assert!(refused[0].to_string().contains("which a JDK has"), "{refused:?}");
        std::fs::write(bin.path().join("jcmd"), "").unwrap();
        assert!(purged_without_library(&[java]).is_ok());
    }

    #[test]
    fn different_allocators_are_not_compared_when_they_are_told_to_purge() {
        let refused = purged_without_library(&[linked("a", "jemalloc"), linked("b", "mimalloc")]).unwrap_err();
        assert!(matches!(&refused[..], [PurgeError::Unlike { .. }]), "{refused:?}");
    }
}
