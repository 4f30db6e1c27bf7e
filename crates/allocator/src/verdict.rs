//! From the evidence to the allocator and its certainty (pure).

use std::collections::{BTreeMap, BTreeSet};

use super::mimalloc;
use super::scan::Mark;
use record::jemalloc;
use record::{AllocatorFacts, AllocatorFamily, Confidence};

/// Where an allocator's marks were found, the nearest to the program first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Own,
    /// In a library that it is linked with or has loaded, or in a native module of a script.
    Library,
    /// In a library that is preloaded.
    Preloaded,
    /// In a needed library, whose `malloc` is replaced by a preload's.
    Covered,
}

#[derive(Clone, Debug, Default)]
pub struct Signs {
    /// Whether the program ran for its version and ended.
    pub asked: bool,
    pub jemalloc: Vec<jemalloc::Output>,
    pub mimalloc: Option<mimalloc::Said>,
    /// The versions that files state for the allocators with signs in them.
    pub versions: BTreeMap<AllocatorFamily, String>,
    pub marks: BTreeSet<Mark>,
    /// Allocators with signs in the linked or loaded libraries.
    pub brought: BTreeSet<(Place, AllocatorFamily)>,
    pub go: Option<String>,
    /// The version of Node.js, where it is that.
    pub node: Option<String>,
    /// The version of V8 in another program, as that program says it.
    pub v8: Option<String>,
    /// The variable that this program passes on to V8.
    pub flags: Option<&'static str>,
    /// The version of CPython, where its own allocator is in the program: empty where it does not say it.
    pub python: Option<String>,
    /// Whether it is a Java virtual machine.
    pub jvm: bool,
    /// Whether the program is what a launcher starts by the look of its package: another one may be started.
    pub inferred: bool,
    /// The C library, and its version.
    pub libc: Option<(AllocatorFamily, Option<String>)>,
    /// Functions of the C library's allocator that the program or its libraries call.
    pub calls: BTreeSet<&'static str>,
    /// Whether the program is a shell, which is only there to start something else.
    pub shell: bool,
    /// Whether it is an interpreter whose script starts an unknown program, which then allocates.
    pub elsewhere: bool,
    /// Whether it is an interpreter whose script may do so.
    pub doubtful: bool,
}

impl Signs {
    /// Whether the program is there to start another one that was not found.
    pub fn is_launcher(&self) -> bool {
        self.shell || self.elsewhere || self.doubtful
    }
}

/// Which allocator that is. Evidence is left to be filled in.
pub fn verdict(signs: &Signs) -> AllocatorFacts {
    let beside = signs.libc.as_ref().map(|(family, version)| match version {
        Some(version) => format!("{family} {version}"),
        None => family.to_string(),
    });
    spoken(signs, Place::Own, Place::Library)
        .or_else(|| embedded(signs))
        .or_else(|| machine(signs, beside).map(|facts| less_sure(signs, facts)))
        .or_else(|| spoken(signs, Place::Preloaded, Place::Preloaded).map(|facts| less_sure(signs, facts)))
        .or_else(|| preloaded(signs).map(|facts| less_sure(signs, facts)))
        .or_else(|| libc(signs))
        .unwrap_or_default()
}

/// What a launcher starts was not seen to run, and of one that was not followed nothing is known.
fn less_sure(signs: &Signs, mut facts: AllocatorFacts) -> AllocatorFacts {
    if signs.inferred {
        facts.confidence = facts.confidence.min(Some(Confidence::Likely));
    }
    if signs.is_launcher() {
        facts.confidence = Some(Confidence::Guess);
    }
    facts
}

/// Where the marks of an allocator that spoke are; one without marks spoke from a process that was started.
fn place(signs: &Signs, family: AllocatorFamily) -> Place {
    if holds(signs, family) {
        return Place::Own;
    }
    let mut places = signs.brought.iter().filter(|(_, one)| *one == family);
    places.next().map_or(Place::Library, |(place, _)| *place)
}

fn holds(signs: &Signs, family: AllocatorFamily) -> bool {
    let rust = family == AllocatorFamily::Jemalloc && signs.marks.contains(&Mark::RustJemalloc);
    rust || signs.marks.contains(&Mark::Family(family))
}

/// An allocator that answered the probe, in one of these places. Of two, the program's own.
fn spoken(signs: &Signs, from: Place, to: Place) -> Option<AllocatorFacts> {
    let is = |family| {
        let place = place(signs, family);
        (place >= from && place <= to).then_some((place, family))
    };
    let je = is(AllocatorFamily::Jemalloc).filter(|_| !signs.jemalloc.is_empty());
    let mi = is(AllocatorFamily::Mimalloc).filter(|_| signs.mimalloc.is_some());
    match [je, mi].into_iter().flatten().min()? {
        (_, AllocatorFamily::Mimalloc) => signs.mimalloc.as_ref().map(|said| AllocatorFacts {
            family: AllocatorFamily::Mimalloc,
            version: said
                .version
                .clone()
                .or_else(|| signs.versions.get(&AllocatorFamily::Mimalloc).cloned()),
            variable: Some("MIMALLOC_*".to_owned()),
            options: said.options.clone(),
            confidence: Some(Confidence::Certain),
            ..AllocatorFacts::default()
        }),
        _ => Some(of_jemalloc(one_jemalloc(signs)?)),
    }
}

/// The jemalloc that serves the program: the one with Rust's prefix, where that is in it.
fn one_jemalloc(signs: &Signs) -> Option<&jemalloc::Output> {
    let rust = signs.marks.contains(&Mark::RustJemalloc);
    let with = |said: &&jemalloc::Output| said.variable.as_deref() == Some("_RJEM_MALLOC_CONF");
    let own = signs.jemalloc.iter().find(with).filter(|_| rust);
    own.or(signs.jemalloc.first())
}

/// The prefix of a jemalloc that reads a variable.
fn prefix(variable: &str) -> Option<&'static str> {
    match variable {
        "_RJEM_MALLOC_CONF" => Some("_rjem_"),
        "JE_MALLOC_CONF" => Some("je_"),
        _ => None,
    }
}

/// The prefix and the variable of a jemalloc that was not asked, as its file names them, where it names one.
pub fn unasked(facts: &mut AllocatorFacts, marks: &BTreeSet<Mark>) {
    let mut variables = marks.iter().filter_map(|mark| match mark {
        Mark::RustJemalloc => Some("_RJEM_MALLOC_CONF"),
        Mark::Variable(variable) => Some(*variable),
        _ => None,
    });
    let (first, second) = (variables.next(), variables.next());
    let is_it = facts.family == AllocatorFamily::Jemalloc && facts.variable.is_none();
    if let Some(variable) = first.filter(|_| is_it && second.is_none()) {
        facts.prefix = prefix(variable).map(str::to_owned);
        facts.variable = Some(variable.to_owned());
    }
}

fn of_jemalloc(said: &jemalloc::Output) -> AllocatorFacts {
    AllocatorFacts {
        family: AllocatorFamily::Jemalloc,
        version: said.version.clone(),
        prefix: said.variable.as_deref().and_then(prefix).map(str::to_owned),
        variable: said.variable.clone(),
        baked: said.baked.clone(),
        options: said.options.clone(),
        confidence: Some(Confidence::Certain),
        ..AllocatorFacts::default()
    }
}

/// An allocator with signs in the program or its libraries that did not answer or was not probed.
fn embedded(signs: &Signs) -> Option<AllocatorFacts> {
    let own = families(signs);
    let brought = signs.brought.iter().filter(|(place, _)| *place == Place::Library);
    let brought: BTreeSet<AllocatorFamily> = brought.map(|(_, family)| *family).collect();
    let all = if own.is_empty() { brought } else { own };
    // A program with signs of several allocators knows of allocators, like this one.
    let family = *all.first().filter(|_| all.len() == 1)?;
    let speaks = matches!(family, AllocatorFamily::Jemalloc | AllocatorFamily::Mimalloc);
    let silent = speaks && signs.asked;
    Some(AllocatorFacts {
        family,
        version: signs.versions.get(&family).cloned(),
        confidence: Some(if silent { Confidence::Guess } else { Confidence::Likely }),
        ..AllocatorFacts::default()
    })
}

/// Allocators with signs in the program itself.
pub fn families(signs: &Signs) -> BTreeSet<AllocatorFamily> {
    let own = signs.marks.iter().filter_map(|mark| match mark {
        Mark::Family(family) => Some(*family),
        Mark::RustJemalloc => Some(AllocatorFamily::Jemalloc),
        _ => None,
    });
    own.collect()
}

/// A virtual machine or a runtime, which manages memory itself.
fn machine(signs: &Signs, beside: Option<String>) -> Option<AllocatorFacts> {
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
        (
            AllocatorFamily::Pymalloc,
            Some(version.clone()).filter(|text| !text.is_empty()),
        )
    } else {
        return None;
    };
    // The preload serves the rest of the process.
    let preloaded = signs.brought.iter().find(|(place, _)| *place == Place::Preloaded);
    let beside = preloaded.map(|(_, family)| family.to_string()).or(beside);
    Some(AllocatorFacts {
        family,
        version,
        beside,
        variable: signs.flags.filter(|_| family == AllocatorFamily::V8).map(str::to_owned),
        // A program may contain V8 and Python and use neither much: signs are the only evidence.
        confidence: Some(match family {
            AllocatorFamily::Pymalloc => Confidence::Likely,
            AllocatorFamily::V8 if signs.node.is_none() => Confidence::Likely,
            _ => Confidence::Certain,
        }),
        ..AllocatorFacts::default()
    })
}

/// A preloaded allocator that says nothing, under a program that calls the C library.
fn preloaded(signs: &Signs) -> Option<AllocatorFacts> {
    let mut preloaded = signs.brought.iter().filter(|(place, _)| *place == Place::Preloaded);
    let (_, family) = preloaded.next().filter(|_| signs.calls.contains("malloc"))?;
    let speaks = matches!(family, AllocatorFamily::Jemalloc | AllocatorFamily::Mimalloc);
    (!(speaks && signs.asked)).then(|| AllocatorFacts {
        family: *family,
        version: signs.versions.get(family).cloned(),
        confidence: Some(Confidence::Likely),
        ..AllocatorFacts::default()
    })
}

/// The C library's allocator, if nothing shows another.
fn libc(signs: &Signs) -> Option<AllocatorFacts> {
    let (family, version) = signs.libc.clone()?;
    if signs.elsewhere || families(signs).len() > 1 {
        return None;
    }
    let all = ["malloc", "calloc"].iter().all(|call| signs.calls.contains(call));
    let linked_in = signs.marks.contains(&Mark::Glibc) || signs.marks.contains(&Mark::Musl);
    // The Rust library itself calls `malloc` here and there, but `calloc` only where it is the allocator.
    if signs.marks.contains(&Mark::Rust) && !all && !linked_in {
        return None;
    }
    if signs.calls.is_empty() && !linked_in {
        return None;
    }
    let sure = all && signs.asked && !signs.shell;
    Some(AllocatorFacts {
        family,
        version,
        confidence: Some(if sure { Confidence::Likely } else { Confidence::Guess }),
        ..AllocatorFacts::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use AllocatorFamily as Family;

    fn said(variable: &str) -> jemalloc::Output {
        jemalloc::Output {
            variable: Some(variable.to_owned()),
            version: Some("5.3.0".to_owned()),
            ..jemalloc::Output::default()
        }
    }

    fn glibc(marks: &[Mark], calls: &[&'static str]) -> Signs {
        Signs {
            asked: true,
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
        signs.jemalloc = vec![said("_RJEM_MALLOC_CONF")];
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
        signs.jemalloc = vec![said("MALLOC_CONF"), said("_RJEM_MALLOC_CONF")];
        signs.brought = [(Place::Preloaded, Family::Jemalloc)].into();
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
        signs.mimalloc = Some(mimalloc::Said::default());
        signs.brought = [(Place::Library, Family::Mimalloc)].into();
        assert_eq!(verdict(&signs).family, Family::Mimalloc);
    }

    #[test]
    fn marks_alone_are_likely_and_a_guess_where_the_allocator_should_have_spoken() {
        let mut signs = glibc(&[JE], &["malloc"]);
        assert_eq!(verdict(&signs).confidence, Some(Confidence::Guess));
        signs.asked = false;
        assert_eq!(verdict(&signs).confidence, Some(Confidence::Likely));
        signs.marks.insert(Mark::Family(Family::Tcmalloc));
        assert_eq!(verdict(&signs).family, Family::Unknown, "one that knows of several");
    }

    #[test]
    fn a_file_that_was_not_asked_names_the_variable_of_its_jemalloc() {
        let told = |marks: &[Mark]| {
            let mut signs = glibc(marks, &["malloc"]);
            signs.asked = false;
            let mut facts = verdict(&signs);
            unasked(&mut facts, &signs.marks);
            (facts.prefix, facts.variable, facts.confidence)
        };
        let (plain, own) = (Mark::Variable("MALLOC_CONF"), Mark::Variable("JE_MALLOC_CONF"));
        let text = |text: &str| Some(text.to_owned());
        let likely = Some(Confidence::Likely);
        assert_eq!(
            told(&[JE, Mark::RustJemalloc]),
            (text("_rjem_"), text("_RJEM_MALLOC_CONF"), likely)
        );
        assert_eq!(told(&[JE, own]), (text("je_"), text("JE_MALLOC_CONF"), likely));
        assert_eq!(told(&[JE, plain]), (None, text("MALLOC_CONF"), likely));
        assert_eq!(told(&[JE, plain, Mark::RustJemalloc]), (None, None, likely), "of two");
        assert_eq!(told(&[JE]), (None, None, likely));
        assert_eq!(told(&[plain]).1, None, "a text by itself is no allocator");
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
        shell.elsewhere = true;
        assert_eq!(verdict(&shell).family, Family::Unknown);
        assert_eq!(verdict(&glibc(&[], &[])).family, Family::Unknown);
        assert_eq!(verdict(&Signs::default()), AllocatorFacts::default());
    }

    #[test]
    fn what_may_start_another_program_is_a_guess() {
        let mut signs = glibc(&[Mark::Node], &["malloc", "calloc"]);
        signs.node = Some("20.20.2".to_owned());
        assert_eq!(verdict(&signs).confidence, Some(Confidence::Certain));
        signs.doubtful = true;
        assert_eq!(verdict(&signs).confidence, Some(Confidence::Guess));
        // A preloaded allocator answers from the shell.
        let mut shell = glibc(&[], &["malloc", "calloc"]);
        shell.jemalloc = vec![said("MALLOC_CONF")];
        shell.brought = [(Place::Preloaded, Family::Jemalloc)].into();
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
