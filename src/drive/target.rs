//! Picks the places where a scenario asks: the same for the same seed and workspace, on every system.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use super::language::{Language, Sites, sites};
use super::random::Random;
use super::workspace::SourceFile;
use crate::lsp::position::strip_bom;

/// What kind of place is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The first character of a name: definition, references, hover, rename …
    Name,
    /// Just past the name of a member: completion, as a person asks for it in the middle of a word.
    Member,
    /// Just past the `.` of a member access: completion, as an editor asks for it.
    Operator,
    /// Just past the `(` of a call: signature help.
    Call,
}

/// A place to ask at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Which of the files given to [`pick`].
    pub file: usize,
    /// Offset in the file's text as [`read`] returns it.
    pub offset: usize,
    /// Its line, from 0.
    pub line: u32,
    /// The name there, or before the `.` or `(`.
    pub name: String,
}

/// What [`pick`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picked {
    /// File by file, each file's in the order of its text.
    pub targets: Vec<Target>,
    /// Files that would have been taken but are not fit for it.
    pub skipped: Vec<Skipped>,
    /// How many targets fewer than wanted there are, because the files have no more places.
    pub missing: usize,
}

/// A file that another one was taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Which of the files given to [`pick`].
    pub file: usize,
    /// Why, for people: `has 2 of 20 places`, `is not UTF-8`.
    pub reason: String,
}

/// Files above this are looked at last: they are generated, and an editor would not treat them like others either.
const LARGE: u64 = 1 << 20;

/// Picks `per_file` places in each of `wanted` files, spread over the directories and sizes of the files and over the
/// length of each text. Names that were not asked for yet go first, and names in use go before names being defined.
pub fn pick(files: &[SourceFile], wanted: usize, per_file: usize, seed: u64, place: Place) -> Picked {
    let mut random = Random::for_use(seed, "targets");
    let order = order(files, wanted, seed);
    let mut picked = Picked::default();
    let mut asked = HashSet::new();
    let mut chosen: Vec<Vec<Target>> = Vec::new();
    // Files with some places but not enough: used after all when there is nothing better.
    let mut poor: Vec<(usize, Vec<Target>)> = Vec::new();
    // In a huge workspace of tiny files, reading them all to find the richest is not worth it.
    let most_reads = wanted.saturating_mul(4).saturating_add(64);
    for &file in order.iter().take(most_reads) {
        if chosen.len() == wanted {
            break;
        }
        let source = &files[file];
        let candidates = match read(&source.path) {
            Ok(text) => candidates(&text, &sites(&text, Language::of(&source.language)), file, place),
            Err(error) => {
                picked.skipped.push(Skipped {
                    file,
                    reason: format!("cannot be read: {error}"),
                });
                continue;
            }
        };
        let found = candidates.len();
        let targets = spread(candidates, per_file, &mut asked, &mut random);
        if targets.len() == per_file {
            chosen.push(targets);
        } else {
            picked.skipped.push(Skipped {
                file,
                reason: format!("has {found} of {per_file} places"),
            });
            poor.push((file, targets));
        }
    }
    poor.sort_by_key(|(_, targets)| std::cmp::Reverse(targets.len()));
    for (file, targets) in poor
        .into_iter()
        .take(wanted - chosen.len())
        .filter(|(_, targets)| !targets.is_empty())
    {
        picked.skipped.retain(|skipped| skipped.file != file);
        chosen.push(targets);
    }
    picked.targets = chosen.concat();
    picked.missing = wanted.saturating_mul(per_file).saturating_sub(picked.targets.len());
    picked
}

/// Picks `wanted` files, spread over directories and sizes, without looking into them.
pub fn pick_files(files: &[SourceFile], wanted: usize, seed: u64) -> Vec<usize> {
    let mut order = order(files, wanted, seed);
    order.truncate(wanted);
    order
}

/// Words to search the workspace for: whole names of things, the first three letters of others, single letters.
pub fn words(files: &[SourceFile], wanted: usize, seed: u64) -> Vec<String> {
    let mut random = Random::for_use(seed, "words");
    let mut names: Vec<String> = Vec::new();
    for &file in order(files, 16, seed).iter().take(16) {
        let Ok(text) = read(&files[file].path) else { continue };
        let found = sites(&text, Language::of(&files[file].language)).identifiers;
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

/// The text of a file as editors have it: UTF-8, without a byte order mark.
pub fn read(path: &Path) -> io::Result<String> {
    let text = String::from_utf8(fs::read(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))?;
    Ok(match strip_bom(&text) {
        stripped if stripped.len() == text.len() => text,
        stripped => stripped.to_owned(),
    })
}

/// All files, the best choice first: the first `wanted` come from `wanted` stretches of the sorted paths, each at
/// another rank of size; the others stand in when one of these turns out unfit.
fn order(files: &[SourceFile], wanted: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::for_use(seed, "files");
    let (mut usable, large): (Vec<usize>, Vec<usize>) = (0..files.len()).partition(|&file| files[file].size <= LARGE);
    usable.sort_by(|&a, &b| files[a].relative.cmp(&files[b].relative));
    let strata = wanted.clamp(1, usable.len().max(1));
    let mut ranks: Vec<usize> = (0..strata).collect();
    random.shuffle(&mut ranks);
    let mut first = Vec::with_capacity(usable.len() + large.len());
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
    first.extend(large);
    first
}

/// A place that may be picked; `late` ones only when nothing else is near.
struct Candidate {
    target: Target,
    late: bool,
}

fn candidates(text: &str, sites: &Sites, file: usize, place: Place) -> Vec<Candidate> {
    let target = |offset, line, name: &str| Target {
        file,
        offset,
        line,
        name: name.to_owned(),
    };
    match place {
        Place::Name => sites
            .identifiers
            .iter()
            .map(|found| Candidate {
                target: target(found.range.start, found.line, &text[found.range.clone()]),
                late: found.definition,
            })
            .collect(),
        Place::Member | Place::Operator => sites
            .members
            .iter()
            .map(|found| {
                let offset = if place == Place::Member {
                    found.end
                } else {
                    found.offset
                };
                let target = target(offset, found.line, &text[found.receiver.clone()]);
                Candidate { target, late: false }
            })
            .collect(),
        Place::Call => sites
            .calls
            .iter()
            .map(|found| Candidate {
                target: target(found.offset, found.line, &text[found.name.clone()]),
                late: false,
            })
            .collect(),
    }
}

/// At most `count` of the candidates, one from each of `count` equal stretches, new names first.
fn spread(candidates: Vec<Candidate>, count: usize, asked: &mut HashSet<String>, random: &mut Random) -> Vec<Target> {
    let total = candidates.len();
    let count = count.min(total);
    let mut targets = Vec::with_capacity(count);
    for stretch in 0..count {
        let bounds = total * stretch / count..total * (stretch + 1) / count;
        let stretch = &candidates[bounds];
        let start = random.below(stretch.len());
        let turned = (0..stretch.len()).map(|step| &stretch[(start + step) % stretch.len()]);
        let best = turned.min_by_key(|candidate| (asked.contains(&candidate.target.name), candidate.late));
        if let Some(best) = best {
            asked.insert(best.target.name.clone());
            targets.push(best.target.clone());
        }
    }
    targets
}
