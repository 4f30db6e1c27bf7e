//! Picks the places of requests: the same for the same seed and workspace, on every system.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashSet;
use std::io;
use std::ops::Range;

use base::random::Random;
use lsp::position::strip_bom;
use record::regular_file;

use super::doubt::{doubtful, modules};
use super::language::{Language, Sites, sites};
use super::workspace::SourceFile;

/// The kind of place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// The first character of a name: hover, highlights, code actions.
    Name,
    /// The first character of a name that resolves to a definition: definition, references, rename …
    Use,
    /// After the name of a member: completion, as at the end of a typed word. (Some servers return nothing at the start
    /// of an existing word.)
    Member,
    /// After the `(` of a call: signature help.
    Call,
}

impl TargetKind {
    /// The plural for messages, in a text of this language.
    pub fn words(self, language: &str) -> &'static str {
        let language = Language::from_id(language);
        match self {
            TargetKind::Member if !language.completes_names() => "members of names",
            TargetKind::Name | TargetKind::Use | TargetKind::Member => language.places,
            TargetKind::Call => "calls",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Index into the files passed to [`pick`].
    pub file: usize,
    /// Offset in the text that [`read`] returns.
    pub offset: usize,
    /// Line number, from 0.
    pub line: u32,
    /// The name there, or before the `.` or `(`.
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picked {
    /// By file, and within each by offset.
    pub targets: Vec<Target>,
    /// Chosen files that turned out unfit.
    pub skipped: Vec<Skipped>,
    /// Number of wanted targets that do not exist.
    pub missing: usize,
}

/// A file that was replaced by another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Index into the files passed to [`pick`].
    pub file: usize,
    /// The reason, for messages: `has 2 of 20 places`, `is not UTF-8`.
    pub reason: String,
}

/// Larger files, in bytes, are read last and only up to this size. They are generated, editors treat them differently,
/// and all their names would take seconds and many times the memory of the text.
const LARGE: usize = 1 << 20;

/// Bytes that a file needs per place to be read early; a name and its context take more.
const LEAST: u64 = 8;

/// Directories that a project's own build often excludes.
#[rustfmt::skip]
const SELDOM_BUILT: &[&str] = &[
    "bench", "benches", "contrib", "doc", "docs", "example", "examples", "fixtures", "fuzz", "test", "testdata",
    "tests", "third_party", "vendor",
];

/// Suffixes of Go files that are built for only one system or processor.
#[rustfmt::skip]
const GO_SYSTEMS: &[&str] = &[
    "386", "aix", "amd64", "android", "arm", "arm64", "darwin", "dragonfly", "freebsd", "illumos", "ios", "js",
    "linux", "loong64", "mips", "mips64", "mips64le", "mipsle", "netbsd", "openbsd", "plan9", "ppc64", "ppc64le",
    "riscv64", "s390x", "solaris", "wasip1", "wasm", "windows",
];

/// Picks `per_file` places in each of `wanted` files, spread over directories, sizes and the length of each `text`, for
/// example of an open document. New names come first, and uses come before definitions.
pub fn pick<'t>(
    files: &[SourceFile],
    text: impl Fn(usize) -> io::Result<Cow<'t, str>>,
    wanted: usize,
    per_file: usize,
    seed: u64,
    place: TargetKind,
) -> Picked {
    let mut random = Random::for_use(seed, "targets");
    let order = order(files, wanted, per_file as u64 * LEAST, seed);
    let local = modules(files);
    let mut picked = Picked::default();
    let mut asked = HashSet::new();
    let mut chosen: Vec<Vec<Target>> = Vec::new();
    // Files with too few places: used only when there is nothing better.
    let mut poor: Vec<(usize, bool, Vec<Target>)> = Vec::new();
    // In a huge workspace of tiny files, reading all to find the richest is not worth it.
    let most_reads = wanted.saturating_mul(4).saturating_add(64);
    for &file in order.iter().take(most_reads) {
        if chosen.len() == wanted {
            break;
        }
        let source = &files[file];
        let text = match text(file) {
            Ok(text) => text,
            Err(error) => {
                picked.skipped.push(Skipped {
                    file,
                    reason: format!("cannot be read: {error}"),
                });
                continue;
            }
        };
        let language = Language::from_id(&source.language);
        let text = looked_at(&text);
        let sites = sites(text, language);
        let doubtful = doubtful(text, language, &sites.identifiers, &local);
        let candidates = candidates(&sites, place, &doubtful);
        // Doubtful places do not make a file fit, but they fill up unfit files that must be used.
        let found = candidates.iter().filter(|candidate| candidate.doubt < DOUBTFUL).count();
        let places = spread(text, &candidates, per_file, &mut asked, &mut random);
        let targets = places.into_iter().map(|place| place.target(text, file)).collect();
        let conditional = is_conditional(text, &source.language);
        if found >= per_file && !conditional {
            chosen.push(targets);
            continue;
        }
        let reason = if conditional {
            "is built under a condition".to_owned()
        } else {
            format!("has {found} of {per_file} places")
        };
        picked.skipped.push(Skipped { file, reason });
        poor.push((file, conditional, targets));
    }
    poor.sort_by_key(|(_, conditional, targets)| (*conditional, std::cmp::Reverse(targets.len())));
    for (file, _, targets) in poor
        .into_iter()
        .take(wanted - chosen.len())
        .filter(|(.., targets)| !targets.is_empty())
    {
        picked.skipped.retain(|skipped| skipped.file != file);
        chosen.push(targets);
    }
    picked.targets = chosen.concat();
    picked.missing = wanted.saturating_mul(per_file).saturating_sub(picked.targets.len());
    picked
}

/// Most files read before the answer is "unknown".
const MOST_LOOKED_AT: usize = 500;

/// True if any file has a place of this kind; `None` if there are too many files to read.
pub fn anywhere(files: &[SourceFile], place: TargetKind) -> Option<bool> {
    let found = files.iter().take(MOST_LOOKED_AT).any(|file| {
        let language = Language::from_id(&file.language);
        let text = read(file).unwrap_or_default();
        let sites = sites(looked_at(&text), language);
        !candidates(&sites, place, &HashSet::new()).is_empty()
    });
    if found || files.len() <= MOST_LOOKED_AT {
        Some(found)
    } else {
        None
    }
}

/// Picks `wanted` files, spread over directories and sizes, without reading them.
pub fn pick_files(files: &[SourceFile], wanted: usize, seed: u64) -> Vec<usize> {
    let mut order = order(files, wanted, 1, seed);
    order.truncate(wanted);
    order
}

/// Search terms for workspace symbols: whole names, the first three letters of others, single letters.
pub fn words(files: &[SourceFile], wanted: usize, seed: u64) -> Vec<String> {
    let mut random = Random::for_use(seed, "words");
    let mut names: Vec<String> = Vec::new();
    for &file in order(files, 16, 20 * LEAST, seed).iter().take(16) {
        let Ok(text) = read(&files[file]) else { continue };
        let text = looked_at(&text);
        let found = sites(text, Language::from_id(&files[file].language)).identifiers;
        let defined = found.iter().any(|identifier| identifier.definition);
        for identifier in found.into_iter().filter(|identifier| identifier.definition || !defined) {
            let name = &text[identifier.range];
            if name.chars().count() > 3 && !name.starts_with('_') {
                names.push(name.to_owned());
            }
        }
    }
    names.sort_unstable();
    names.dedup();
    random.shuffle(&mut names);
    let mut words: Vec<String> = Vec::new();
    for name in names {
        let letters = [usize::MAX, 3, 1][words.len() % 3];
        let word: String = name.chars().take(letters).collect();
        if words.len() < wanted && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// The text of a file as editors have it: UTF-8, without a byte order mark. A zero byte makes it no text; a file that
/// grew large since it was listed is not read.
pub fn read(file: &SourceFile) -> io::Result<String> {
    let bytes = regular_file::read(&file.path, file.most())?;
    if memchr::memchr(0, &bytes).is_some() {
        return Err(invalid("it has zero bytes"));
    }
    let mut text = String::from_utf8(bytes).map_err(|_| invalid("it is not UTF-8"))?;
    let mark = text.len() - strip_bom(&text).len();
    text.drain(..mark);
    Ok(text)
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// The part of a text that is searched for places; it ends at a line end if it has one.
pub fn looked_at(text: &str) -> &str {
    if text.len() <= LARGE {
        return text;
    }
    let head = &text[..text.floor_char_boundary(LARGE)];
    head.rfind('\n').map_or(head, |at| &head[..=at])
}

/// All files, best first. The first `wanted` come from equal stretches of the sorted paths, each at another rank of
/// size; the rest replace unfit files. Files under `least` bytes come last.
fn order(files: &[SourceFile], wanted: usize, least: u64, seed: u64) -> Vec<usize> {
    let mut random = Random::for_use(seed, "files");
    let (mut usable, mut late): (Vec<usize>, Vec<usize>) =
        (0..files.len()).partition(|&file| files[file].size >= least && !is_late(&files[file]));
    late.sort_by_key(|&file| (files[file].size < least, files[file].size > LARGE as u64, file));
    usable.sort_by(|&a, &b| files[a].relative.cmp(&files[b].relative));
    let strata = wanted.clamp(1, usable.len().max(1));
    let mut ranks: Vec<usize> = (0..strata).collect();
    random.shuffle(&mut ranks);
    let mut first = Vec::with_capacity(files.len());
    let mut rest = Vec::new();
    for (stratum, rank) in ranks.iter().enumerate() {
        let bounds = usable.len() * stratum / strata..usable.len() * (stratum + 1) / strata;
        let mut members = usable[bounds].to_vec();
        members.sort_by_key(|&file| (files[file].size, file));
        if !members.is_empty() {
            first.push(members.remove((2 * rank + 1) * members.len() / (2 * strata)));
        }
        rest.extend(members);
    }
    random.shuffle(&mut rest);
    first.extend(rest);
    first.extend(late);
    first
}

/// True if a file is used only if there are too few others: a generated giant, one that is often not built, or a C
/// header, which servers read without knowing who includes it.
fn is_late(file: &SourceFile) -> bool {
    let directories = file
        .relative
        .rsplit_once('/')
        .map_or("", |(directories, _)| directories);
    let name = file.relative.rsplit('/').next().unwrap_or_default();
    let header = matches!(file.language.as_str(), "c" | "cpp")
        && [".h", ".hh", ".hpp", ".hxx"].iter().any(|end| name.ends_with(end));
    let stem = name.strip_suffix(".go").unwrap_or_default();
    let system = stem
        .rsplit('_')
        .take(2)
        .any(|part| part.len() < stem.len() && GO_SYSTEMS.contains(&part));
    file.size > LARGE as u64
        || header
        || system
        || directories
            .split('/')
            .any(|directory| SELDOM_BUILT.contains(&directory))
}

/// True if a text is built only under a condition, which may be false here.
fn is_conditional(text: &str, language: &str) -> bool {
    let mut head = text.lines().take(40).take_while(|line| !line.starts_with("package "));
    match language {
        "go" => head.any(|line| line.starts_with("//go:build") || line.starts_with("// +build")),
        "rust" => head.any(|line| line.starts_with("#![cfg(")),
        _ => false,
    }
}

/// The penalty of a doubtful place: worse than asking for the same name twice, which costs 2.
const DOUBTFUL: u8 = 3;

/// A possible place, and how unlikely it is to get an answer.
struct Candidate {
    offset: usize,
    line: u32,
    name: Range<usize>,
    doubt: u8,
}

impl Candidate {
    fn target(&self, text: &str, file: usize) -> Target {
        Target {
            file,
            offset: self.offset,
            line: self.line,
            name: text[self.name.clone()].to_owned(),
        }
    }
}

fn candidates(sites: &Sites, place: TargetKind, doubtful: &HashSet<usize>) -> Vec<Candidate> {
    let candidate = |offset, line, name: &Range<usize>, definition| Candidate {
        offset,
        line,
        name: name.clone(),
        doubt: if doubtful.contains(&name.start) {
            DOUBTFUL
        } else {
            u8::from(definition)
        },
    };
    match place {
        TargetKind::Name | TargetKind::Use => {
            // Words that the format defines have a hover but no definition: used only if nothing else exists.
            let leads = place == TargetKind::Use && sites.identifiers.iter().any(|name| name.leads);
            sites
                .identifiers
                .iter()
                .filter(|name| name.leads || !leads)
                .map(|name| candidate(name.range.start, name.line, &name.range, name.definition))
                .collect()
        }
        TargetKind::Member => sites
            .members
            .iter()
            .map(|member| candidate(member.end, member.line, &member.receiver, false))
            .collect(),
        TargetKind::Call => sites
            .calls
            .iter()
            .map(|call| candidate(call.offset, call.line, &call.name, false))
            .collect(),
    }
}

/// At most `count` of the candidates, one from each of `count` equal stretches, new names first.
fn spread<'c>(
    text: &str,
    candidates: &'c [Candidate],
    count: usize,
    asked: &mut HashSet<String>,
    random: &mut Random,
) -> Vec<&'c Candidate> {
    let total = candidates.len();
    let count = count.min(total);
    let mut chosen = Vec::with_capacity(count);
    for stretch in 0..count {
        let bounds = total * stretch / count..total * (stretch + 1) / count;
        let stretch = &candidates[bounds];
        let start = random.below(stretch.len());
        let from_start = (0..stretch.len()).map(|step| &stretch[(start + step) % stretch.len()]);
        let best = from_start
            .min_by_key(|candidate| 2 * u8::from(asked.contains(&text[candidate.name.clone()])) + candidate.doubt);
        if let Some(best) = best {
            asked.insert(text[best.name.clone()].to_owned());
            chosen.push(best);
        }
    }
    chosen
}
