//! From the evidence to the allocator and its certainty (pure).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::mimalloc;
use super::scan::Mark;
use record::jemalloc;
use record::{AllocatorFacts, AllocatorFamily, Confidence};

/// Where an allocator's marks were found, the nearest to the program first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Own,
    /// In a library that it is linked with or has loaded.
    Library,
    /// In a library that is preloaded.
    Preloaded,
    /// In a needed library, whose `malloc` is replaced by a preload's.
    Covered,
}

#[derive(Clone, Debug, Default)]
pub struct Signs {
    /// True if the program ran for its version and ended by itself, not by a signal.
    pub exited: bool,
    pub jemalloc: Vec<jemalloc::Output>,
    pub mimalloc: Option<mimalloc::Output>,
    /// The versions that files state for the allocators with signs in them.
    pub versions: BTreeMap<AllocatorFamily, String>,
    pub marks: BTreeSet<Mark>,
    /// Allocators with signs in the linked or loaded libraries.
    pub library_families: BTreeSet<(Place, AllocatorFamily)>,
    pub go: Option<String>,
    /// The version of Node.js, if the program is that.
    pub node: Option<String>,
    /// The version of V8 in another program, as that program says it.
    pub v8: Option<String>,
    /// The variable that this program passes on to V8.
    pub flags: Option<&'static str>,
    /// The version of CPython, where its own allocator is in the program: empty where it does not say it.
    pub python: Option<String>,
    /// True for a Java virtual machine.
    pub jvm: bool,
    /// The C library, and its version.
    pub libc: Option<(AllocatorFamily, Option<String>)>,
    /// Functions of the C library's allocator that the program or its libraries call.
    pub calls: BTreeSet<&'static str>,
    /// True for a shell, which only starts something else.
    pub shell: bool,
    /// True for an interpreter whose script may start another program.
    pub may_start: bool,
}

impl Signs {
    /// True if the program only starts another one that was not found.
    pub fn is_launcher(&self) -> bool {
        self.shell || self.may_start
    }
}

/// The allocator that the signs show, without its evidence.
pub fn verdict(signs: &Signs) -> AllocatorFacts {
    if let Some(facts) = answering_allocator(signs, Place::Own..=Place::Library).or_else(|| embedded_allocator(signs)) {
        return facts;
    }
    let facts = runtime(signs)
        .or_else(|| answering_allocator(signs, Place::Preloaded..=Place::Preloaded))
        .or_else(|| silent_preload(signs));
    match facts {
        Some(facts) => less_sure(signs, facts),
        None => c_library(signs).unwrap_or_default(),
    }
}

/// Lowers the confidence if a launcher is involved, whose program is not known before the run.
fn less_sure(signs: &Signs, mut facts: AllocatorFacts) -> AllocatorFacts {
    if signs.is_launcher() {
        facts.confidence = Some(Confidence::Guess);
    }
    facts
}

/// The place of the marks of an allocator that answered; one without marks answered from a process that was started.
fn place_of_marks(signs: &Signs, family: AllocatorFamily) -> Place {
    if has_marks(signs, family) {
        return Place::Own;
    }
    let mut in_libraries = signs.library_families.iter();
    match in_libraries.find(|(_, found)| *found == family) {
        Some((place, _)) => *place,
        None => Place::Library,
    }
}

fn has_marks(signs: &Signs, family: AllocatorFamily) -> bool {
    let is_rust_jemalloc = family == AllocatorFamily::Jemalloc && signs.marks.contains(&Mark::RustJemalloc);
    is_rust_jemalloc || signs.marks.contains(&Mark::Family(family))
}

/// An allocator that answered the probe and has its marks in one of these places. Of two, the one nearer to the program,
/// and jemalloc in the same place.
fn answering_allocator(signs: &Signs, places: RangeInclusive<Place>) -> Option<AllocatorFacts> {
    let jemalloc_place = place_of_marks(signs, AllocatorFamily::Jemalloc);
    let mimalloc_place = place_of_marks(signs, AllocatorFamily::Mimalloc);
    let jemalloc = if places.contains(&jemalloc_place) {
        serving_jemalloc(signs)
    } else {
        None
    };
    let mimalloc = if places.contains(&mimalloc_place) {
        signs.mimalloc.as_ref()
    } else {
        None
    };
    match (jemalloc, mimalloc) {
        (Some(_), Some(mimalloc)) if mimalloc_place < jemalloc_place => Some(facts_of_mimalloc(mimalloc, signs)),
        (Some(jemalloc), _) => Some(facts_of_jemalloc(jemalloc)),
        (None, Some(mimalloc)) => Some(facts_of_mimalloc(mimalloc, signs)),
        (None, None) => None,
    }
}

/// Of the jemallocs that answered the one that serves the program: with Rust's prefix, if the program contains that.
fn serving_jemalloc(signs: &Signs) -> Option<&jemalloc::Output> {
    if signs.marks.contains(&Mark::RustJemalloc) {
        let mut outputs = signs.jemalloc.iter();
        let of_rust = outputs.find(|output| output.variable.as_deref() == Some("_RJEM_MALLOC_CONF"));
        if of_rust.is_some() {
            return of_rust;
        }
    }
    signs.jemalloc.first()
}

/// The prefix of the functions of a jemalloc that reads this variable.
fn prefix(variable: &str) -> Option<&'static str> {
    match variable {
        "_RJEM_MALLOC_CONF" => Some("_rjem_"),
        "JE_MALLOC_CONF" => Some("je_"),
        _ => None,
    }
}

/// Sets the prefix and the variable of a jemalloc that was not probed, if its file names exactly one variable.
pub fn name_variable(facts: &mut AllocatorFacts, marks: &BTreeSet<Mark>) {
    if facts.family != AllocatorFamily::Jemalloc || facts.variable.is_some() {
        return;
    }
    let variables: Vec<&str> = marks
        .iter()
        .filter_map(|mark| match mark {
            Mark::RustJemalloc => Some("_RJEM_MALLOC_CONF"),
            Mark::Variable(variable) => Some(*variable),
            _ => None,
        })
        .collect();
    if let [variable] = variables[..] {
        facts.prefix = prefix(variable).map(str::to_owned);
        facts.variable = Some(variable.to_owned());
    }
}

fn facts_of_jemalloc(output: &jemalloc::Output) -> AllocatorFacts {
    AllocatorFacts {
        family: AllocatorFamily::Jemalloc,
        version: output.version.clone(),
        prefix: output.variable.as_deref().and_then(prefix).map(str::to_owned),
        variable: output.variable.clone(),
        baked: output.baked.clone(),
        options: output.options.clone(),
        confidence: Some(Confidence::Certain),
        ..AllocatorFacts::default()
    }
}

fn facts_of_mimalloc(output: &mimalloc::Output, signs: &Signs) -> AllocatorFacts {
    let stated_version = signs.versions.get(&AllocatorFamily::Mimalloc);
    AllocatorFacts {
        family: AllocatorFamily::Mimalloc,
        version: output.version.as_ref().or(stated_version).cloned(),
        variable: Some("MIMALLOC_*".to_owned()),
        options: output.options.clone(),
        confidence: Some(Confidence::Certain),
        ..AllocatorFacts::default()
    }
}

/// An allocator with signs in the program or its libraries that did not answer or was not probed.
fn embedded_allocator(signs: &Signs) -> Option<AllocatorFacts> {
    let mut families = families(signs);
    if families.is_empty() {
        let in_libraries = signs.library_families.iter();
        families = in_libraries
            .filter(|(place, _)| *place == Place::Library)
            .map(|(_, family)| *family)
            .collect();
    }
    // A program with signs of several allocators knows of allocators, like this one.
    if families.len() != 1 {
        return None;
    }
    let family = *families.first()?;
    let confidence = if signs.exited && answers_probe(family) {
        Confidence::Guess
    } else {
        Confidence::Likely
    };
    Some(AllocatorFacts {
        family,
        version: signs.versions.get(&family).cloned(),
        confidence: Some(confidence),
        ..AllocatorFacts::default()
    })
}

/// True for the allocators that report themselves when the probe asks.
fn answers_probe(family: AllocatorFamily) -> bool {
    matches!(family, AllocatorFamily::Jemalloc | AllocatorFamily::Mimalloc)
}

/// Allocators with signs in the program itself.
pub fn families(signs: &Signs) -> BTreeSet<AllocatorFamily> {
    let marks = signs.marks.iter();
    marks
        .filter_map(|mark| match mark {
            Mark::Family(family) => Some(*family),
            Mark::RustJemalloc => Some(AllocatorFamily::Jemalloc),
            _ => None,
        })
        .collect()
}

/// A virtual machine or a runtime, which manages memory itself.
fn runtime(signs: &Signs) -> Option<AllocatorFacts> {
    // Before 1.18 the release is not beside the mark, which alone is no more than a text.
    let (family, version) = if signs.go.is_some() {
        (AllocatorFamily::Go, signs.go.clone())
    } else if signs.node.is_some() {
        (AllocatorFamily::V8, signs.node.clone())
    } else if signs.marks.contains(&Mark::V8) && !signs.marks.contains(&Mark::Node) {
        (AllocatorFamily::V8, signs.v8.clone())
    } else if signs.jvm {
        (AllocatorFamily::Jvm, None)
    } else if let Some(version) = &signs.python {
        let version = if version.is_empty() {
            None
        } else {
            Some(version.clone())
        };
        (AllocatorFamily::Pymalloc, version)
    } else {
        return None;
    };
    let flags = if family == AllocatorFamily::V8 {
        signs.flags
    } else {
        None
    };
    // A program may contain V8 and Python and use neither much: signs are the only evidence.
    let confidence = match family {
        AllocatorFamily::Pymalloc => Confidence::Likely,
        AllocatorFamily::V8 if signs.node.is_none() => Confidence::Likely,
        _ => Confidence::Certain,
    };
    Some(AllocatorFacts {
        family,
        version,
        beside: allocator_beside_runtime(signs),
        variable: flags.map(str::to_owned),
        confidence: Some(confidence),
        ..AllocatorFacts::default()
    })
}

/// The allocator that serves the rest of a runtime's process: a preloaded one, else the C library's.
fn allocator_beside_runtime(signs: &Signs) -> Option<String> {
    if let Some(family) = preloaded_family(signs) {
        return Some(family.to_string());
    }
    let (family, version) = signs.libc.as_ref()?;
    Some(match version {
        Some(version) => format!("{family} {version}"),
        None => family.to_string(),
    })
}

fn preloaded_family(signs: &Signs) -> Option<AllocatorFamily> {
    let mut in_libraries = signs.library_families.iter();
    let (_, family) = in_libraries.find(|(place, _)| *place == Place::Preloaded)?;
    Some(*family)
}

/// A preloaded allocator that never answers a probe, under a program that calls the C library.
fn silent_preload(signs: &Signs) -> Option<AllocatorFacts> {
    let family = preloaded_family(signs)?;
    if !signs.calls.contains("malloc") || (signs.exited && answers_probe(family)) {
        return None;
    }
    Some(AllocatorFacts {
        family,
        version: signs.versions.get(&family).cloned(),
        confidence: Some(Confidence::Likely),
        ..AllocatorFacts::default()
    })
}

/// The C library's allocator, if nothing shows another.
fn c_library(signs: &Signs) -> Option<AllocatorFacts> {
    let (family, version) = signs.libc.clone()?;
    if families(signs).len() > 1 {
        return None;
    }
    let calls_both = ["malloc", "calloc"].iter().all(|call| signs.calls.contains(call));
    let is_static = signs.marks.contains(&Mark::Glibc) || signs.marks.contains(&Mark::Musl);
    // The Rust library itself calls `malloc` here and there, but `calloc` only where it is the allocator.
    if signs.marks.contains(&Mark::Rust) && !calls_both && !is_static {
        return None;
    }
    if signs.calls.is_empty() && !is_static {
        return None;
    }
    let confidence = if calls_both && signs.exited && !signs.shell {
        Confidence::Likely
    } else {
        Confidence::Guess
    };
    Some(AllocatorFacts {
        family,
        version,
        confidence: Some(confidence),
        ..AllocatorFacts::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use AllocatorFamily as Family;

    fn jemalloc_with(variable: &str) -> jemalloc::Output {
        jemalloc::Output {
            variable: Some(variable.to_owned()),
            version: Some("5.3.0".to_owned()),
            ..jemalloc::Output::default()
        }
    }

    fn glibc(marks: &[Mark], calls: &[&'static str]) -> Signs {
        Signs {
            exited: true,
            marks: marks.iter().copied().collect(),
            libc: Some((Family::Glibc, Some("2.36".to_owned()))),
            calls: calls.iter().copied().collect(),
            ..Signs::default()
        }
    }

    const JE: Mark = Mark::Family(Family::Jemalloc);

    #[test]
    fn what_an_allocator_says_of_itself_is_certain() {
        let mut signs = glibc(&[JE, Mark::RustJemalloc, Mark::Rust], &["malloc"]);
        signs.jemalloc = vec![jemalloc_with("_RJEM_MALLOC_CONF")];
        let facts = verdict(&signs);
        assert_eq!(
            (facts.family, facts.confidence),
            (Family::Jemalloc, Some(Confidence::Certain))
        );
        assert_eq!(facts.prefix.as_deref(), Some("_rjem_"));
    }

    #[test]
    fn a_preloaded_allocator_serves_only_programs_that_bring_none() {
        let mut signs = glibc(&[JE, Mark::RustJemalloc], &["malloc", "calloc"]);
        signs.jemalloc = vec![jemalloc_with("MALLOC_CONF"), jemalloc_with("_RJEM_MALLOC_CONF")];
        signs.library_families = [(Place::Preloaded, Family::Jemalloc)].into();
        assert_eq!(verdict(&signs).variable.as_deref(), Some("_RJEM_MALLOC_CONF"));
        signs.marks = [Mark::Family(Family::Snmalloc)].into();
        signs.jemalloc.pop();
        assert_eq!(verdict(&signs).family, Family::Snmalloc);
        signs.marks.clear();
        assert_eq!(verdict(&signs).variable.as_deref(), Some("MALLOC_CONF"));
        signs.node = Some("20.20.2".to_owned());
        let facts = verdict(&signs);
        assert_eq!((facts.family, facts.beside.as_deref()), (Family::V8, Some("jemalloc")));
    }

    #[test]
    fn a_native_module_wins_over_the_machine_that_loads_it() {
        let mut signs = glibc(&[Mark::Node], &["malloc", "calloc"]);
        signs.node = Some("20.20.2".to_owned());
        assert_eq!(verdict(&signs).beside.as_deref(), Some("glibc 2.36"));
        signs.mimalloc = Some(mimalloc::Output::default());
        signs.library_families = [(Place::Library, Family::Mimalloc)].into();
        assert_eq!(verdict(&signs).family, Family::Mimalloc);
    }

    #[test]
    fn marks_alone_are_likely_and_a_guess_where_the_allocator_should_have_spoken() {
        let mut signs = glibc(&[JE], &["malloc"]);
        assert_eq!(verdict(&signs).confidence, Some(Confidence::Guess));
        signs.exited = false;
        assert_eq!(verdict(&signs).confidence, Some(Confidence::Likely));
        signs.marks.insert(Mark::Family(Family::Tcmalloc));
        assert_eq!(verdict(&signs).family, Family::Unknown, "one that knows of several");
    }

    #[test]
    fn a_file_that_was_not_asked_names_the_variable_of_its_jemalloc() {
        let (plain, own) = (Mark::Variable("MALLOC_CONF"), Mark::Variable("JE_MALLOC_CONF"));
        for (marks, prefix, variable) in [
            (&[JE, Mark::RustJemalloc][..], Some("_rjem_"), Some("_RJEM_MALLOC_CONF")),
            (&[JE, own], Some("je_"), Some("JE_MALLOC_CONF")),
            (&[JE, plain], None, Some("MALLOC_CONF")),
            // Of two variables neither is certain.
            (&[JE, plain, Mark::RustJemalloc], None, None),
            (&[JE], None, None),
        ] {
            let facts = unprobed_facts(marks);
            assert_eq!(facts.prefix.as_deref(), prefix, "{marks:?}");
            assert_eq!(facts.variable.as_deref(), variable, "{marks:?}");
            assert_eq!(facts.confidence, Some(Confidence::Likely), "{marks:?}");
        }
        let facts = unprobed_facts(&[plain]);
        assert_eq!(facts.variable, None, "a text by itself is no allocator");
    }

    /// The verdict on a file with these marks that was not run.
    fn unprobed_facts(marks: &[Mark]) -> AllocatorFacts {
        let mut signs = glibc(marks, &["malloc"]);
        signs.exited = false;
        let mut facts = verdict(&signs);
        name_variable(&mut facts, &signs.marks);
        facts
    }

    #[test]
    fn the_c_library_is_what_is_left() {
        let facts = verdict(&glibc(&[Mark::Rust], &["malloc", "calloc", "realloc"]));
        assert_eq!(facts.to_string(), "glibc 2.36");
        assert_eq!(facts.confidence, Some(Confidence::Likely));
        let own = verdict(&glibc(&[Mark::Rust], &["malloc", "realloc"]));
        assert_eq!(
            own.family,
            Family::Unknown,
            "Rust with an allocator that leaves no mark"
        );
        let mut shell = glibc(&[], &["malloc", "calloc"]);
        shell.shell = true;
        assert_eq!(verdict(&shell).to_string(), "glibc 2.36?");
        assert_eq!(verdict(&glibc(&[], &[])).family, Family::Unknown);
        assert_eq!(verdict(&Signs::default()), AllocatorFacts::default());
    }

    #[test]
    fn what_may_start_another_program_is_a_guess() {
        let mut signs = glibc(&[Mark::Node], &["malloc", "calloc"]);
        signs.node = Some("20.20.2".to_owned());
        assert_eq!(verdict(&signs).confidence, Some(Confidence::Certain));
        signs.may_start = true;
        assert_eq!(verdict(&signs).confidence, Some(Confidence::Guess));
        // A preloaded allocator answers from the shell.
        let mut shell = glibc(&[], &["malloc", "calloc"]);
        shell.jemalloc = vec![jemalloc_with("MALLOC_CONF")];
        shell.library_families = [(Place::Preloaded, Family::Jemalloc)].into();
        assert_eq!(verdict(&shell).confidence, Some(Confidence::Certain));
        shell.shell = true;
        assert_eq!(verdict(&shell).confidence, Some(Confidence::Guess));
    }

    #[test]
    fn go_manages_memory_itself() {
        let mut signs = glibc(&[Mark::Go], &[]);
        (signs.go, signs.libc) = (Some("1.25.1".to_owned()), None);
        assert_eq!(verdict(&signs).to_string(), "go 1.25.1");
        signs.go = None;
        assert_eq!(verdict(&signs), AllocatorFacts::default());
    }
}
