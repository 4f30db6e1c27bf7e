//! Built-in grids: the settings worth trying on each allocator, in its own variables.

use std::collections::BTreeMap;

use super::overlaps::is_given;
use crate::config::Allocator;
use crate::config::tune::{Cell, Preset, merge_cells};
use crate::resolve::ServerChoice;
use allocator::knobs::purge_delay;
use record::variables::pairs;
use record::{AllocatorFacts, AllocatorFamily, Confidence};
use record::{PackagedAllocator, Preload};

/// The reason why a preset cannot be tried on a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PresetError {
    #[error("`--preset {preset}` is for {reader}, and `{label}` uses {uses}: {cure}")]
    Another {
        preset: Preset,
        reader: &'static str,
        label: String,
        uses: String,
        cure: String,
    },
    #[error(
        "`--preset {preset}` needs the allocator of `{label}`, which is not known: name it in a profile, `allocator = \
         {{ linked = \"{word}\" }}`, or write a grid file"
    )]
    Unknown {
        preset: Preset,
        /// The allocator's name in a profile.
        word: &'static str,
        label: String,
    },
}

/// The cells of a preset for a detected server, with notes on those that it does not need.
pub fn cells(preset: Preset, server: &ServerChoice) -> Result<(Vec<Cell>, Vec<String>), PresetError> {
    let facts = server.found.clone().unwrap_or_default();
    let linked = match &server.profile.allocator {
        Some(Allocator::Linked(name)) => Some(AllocatorFamily::from_word(name)),
        Some(Allocator::Preload(_)) | None => None,
    };
    let family = server.preload.family().or(linked).unwrap_or(facts.family);
    // Beside a virtual machine's heap the C library serves memory, and has settings of its own.
    let c_library = facts.beside.as_deref().unwrap_or_default();
    if let Some(own) = preset.family()
        && family != own
        && !c_library.starts_with(own.name())
    {
        return Err(misfit(preset, family, &facts, &server.label));
    }
    let variable = facts.variable.as_deref().unwrap_or("_RJEM_MALLOC_CONF");
    let current = CurrentOptions {
        // The facts are not those of another allocator that the profile names.
        options: if facts.family == family {
            facts.options.clone()
        } else {
            BTreeMap::new()
        },
        set_by_user: given_options(preset, variable, &server.env),
        skipped: Vec::new(),
    };
    let (cells, mut skipped) = match preset {
        Preset::Jemalloc => current.jemalloc(variable),
        Preset::Mimalloc => current.mimalloc(),
        Preset::Glibc => current.glibc(),
        Preset::Go => current.go(facts.version.as_deref()),
        Preset::Node => current.node(facts.variable.as_deref()),
        Preset::Preloads => current.preloads(&server.preload),
    };
    let (known, cells): (Vec<Cell>, Vec<Cell>) = cells.into_iter().partition(|cell| is_given(server, cell));
    skipped.extend(known.iter().map(|cell| format!("{}, {GIVEN}", cell.label)));
    let mut notes = Vec::new();
    if !skipped.is_empty() {
        notes.push(format!("left out of the preset {preset}: {}", skipped.join(", ")));
    }
    Ok((merge_cells(cells), notes))
}

fn misfit(preset: Preset, family: AllocatorFamily, facts: &AllocatorFacts, label: &str) -> PresetError {
    let is_guess = facts.family == family && facts.confidence == Some(Confidence::Guess);
    if family == AllocatorFamily::Unknown || is_guess {
        return PresetError::Unknown {
            preset,
            word: if preset == Preset::Glibc {
                "system"
            } else {
                preset.name()
            },
            label: label.to_owned(),
        };
    }
    PresetError::Another {
        preset,
        reader: preset.reader(),
        label: label.to_owned(),
        uses: if facts.family == family {
            facts.to_string()
        } else {
            family.to_string()
        },
        cure: match Preset::fitting(family) {
            Some(fitting) => format!("use --preset {fitting}, or write a grid file"),
            None => "there is no preset for it; write a grid file with its settings".to_owned(),
        },
    }
}

/// The reason why a setting of the user is not tried again.
const GIVEN: &str = "which is already set";

/// The allocator's options that the user set; detection ran without them.
fn given_options(preset: Preset, variable: &str, env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    match preset {
        Preset::Jemalloc => env
            .get(variable)
            .into_iter()
            .flat_map(|list| pairs(list))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        Preset::Mimalloc => env
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix("MIMALLOC_")?.to_ascii_lowercase(), value.clone())))
            .collect(),
        Preset::Glibc | Preset::Go | Preset::Node | Preset::Preloads => BTreeMap::new(),
    }
}

/// The settings that a server has already, so that they are not tried again.
struct CurrentOptions {
    /// The allocator's defaults.
    options: BTreeMap<String, String>,
    set_by_user: BTreeMap<String, String>,
    skipped: Vec<String>,
}

impl CurrentOptions {
    /// The pairs that change something. `None` if there are none, or if the allocator lacks one of the options: then the cell
    /// is skipped, with the reason.
    fn changed<'p>(&mut self, label: &str, pairs: &[(&'p str, String)]) -> Option<Vec<(&'p str, String)>> {
        let known = !self.options.is_empty();
        if let Some((missing, _)) = pairs
            .iter()
            .find(|(name, _)| known && !self.options.contains_key(*name))
        {
            self.skipped
                .push(format!("{label}, because it has no option `{missing}`"));
            return None;
        }
        let mut changed = Vec::new();
        for (name, value) in pairs {
            let current = self.set_by_user.get(*name).or(self.options.get(*name));
            if current != Some(value) {
                changed.push((*name, value.clone()));
            }
        }
        if changed.is_empty() {
            let is_given = pairs.iter().any(|(name, _)| self.set_by_user.contains_key(*name));
            let why = if is_given { GIVEN } else { "which is its default" };
            self.skipped.push(format!("{label}, {why}"));
            return None;
        }
        Some(changed)
    }

    fn jemalloc(mut self, variable: &str) -> (Vec<Cell>, Vec<String>) {
        let mut wanted: Vec<(String, Vec<(&str, String)>)> = Vec::new();
        for thread in [true, false] {
            for dirty in ["10000", "5000", "1000", "0"] {
                let prefix = if thread { "thread." } else { "" };
                wanted.push((
                    format!("{prefix}dirty-{dirty}"),
                    vec![
                        ("background_thread", thread.to_string()),
                        ("dirty_decay_ms", dirty.to_owned()),
                    ],
                ));
            }
        }
        wanted.push((
            "thread.dirty-1000.muzzy-1000".to_owned(),
            vec![
                ("background_thread", "true".to_owned()),
                ("dirty_decay_ms", "1000".to_owned()),
                ("muzzy_decay_ms", "1000".to_owned()),
            ],
        ));
        // The default is four per processor, so a quarter is one each.
        let processors = self
            .options
            .get("narenas")
            .and_then(|arenas| arenas.parse::<u32>().ok());
        let mut arenas = vec![1, 2, processors.unwrap_or(0) / 4];
        arenas.sort_unstable();
        arenas.dedup();
        for arenas in arenas.into_iter().filter(|arenas| *arenas > 0) {
            wanted.push((format!("narenas-{arenas}"), vec![("narenas", arenas.to_string())]));
        }
        wanted.push(("tcache_max-4096".to_owned(), vec![("tcache_max", "4096".to_owned())]));
        wanted.push((
            "thread.dirty-1000.narenas-2".to_owned(),
            vec![
                ("background_thread", "true".to_owned()),
                ("dirty_decay_ms", "1000".to_owned()),
                ("narenas", "2".to_owned()),
            ],
        ));
        let mut cells = Vec::new();
        for (label, pairs) in wanted {
            if let Some(changed) = self.changed(&label, &pairs) {
                let pairs: Vec<String> = changed.iter().map(|(name, value)| format!("{name}:{value}")).collect();
                cells.push(Cell::variable(&label, variable, &pairs.join(",")));
            }
        }
        (cells, self.skipped)
    }

    fn mimalloc(mut self) -> (Vec<Cell>, Vec<String>) {
        let delay = purge_delay(&self.options);
        let option = delay.trim_start_matches("MIMALLOC_").to_ascii_lowercase();
        let no_huge_pages = ("allow_thp", "0".to_owned());
        let mut wanted: Vec<(String, Vec<(&str, String)>)> = ["0", "10", "100", "1000"]
            .map(|time| (format!("purge-{time}"), vec![(option.as_str(), time.to_owned())]))
            .to_vec();
        wanted.push(("thp-0".to_owned(), vec![no_huge_pages.clone()]));
        wanted.push((
            "purge-0.thp-0".to_owned(),
            vec![(option.as_str(), "0".to_owned()), no_huge_pages],
        ));
        let mut cells = Vec::new();
        for (label, pairs) in wanted {
            if let Some(changed) = self.changed(&label, &pairs) {
                cells.push(Cell {
                    label,
                    env: changed
                        .into_iter()
                        .map(|(name, value)| (format!("MIMALLOC_{}", name.to_ascii_uppercase()), value))
                        .collect(),
                    ..Cell::default()
                });
            }
        }
        (cells, self.skipped)
    }

    fn glibc(self) -> (Vec<Cell>, Vec<String>) {
        let arenas = "MALLOC_ARENA_MAX";
        let trim = ("MALLOC_TRIM_THRESHOLD_", "65536");
        let map = ("MALLOC_MMAP_THRESHOLD_", "65536");
        let tunables = "GLIBC_TUNABLES";
        let all: [(&str, &[(&str, &str)]); 8] = [
            ("arenas-1", &[(arenas, "1")]),
            ("arenas-2", &[(arenas, "2")]),
            ("arenas-4", &[(arenas, "4")]),
            ("trim-64k", &[trim]),
            ("mmap-64k", &[map]),
            ("trim-64k.mmap-64k", &[trim, map]),
            ("tcache-0", &[(tunables, "glibc.malloc.tcache_count=0")]),
            ("arenas-2.trim-64k.mmap-64k", &[(arenas, "2"), trim, map]),
        ];
        (all.map(|(label, env)| set(label, env)).to_vec(), self.skipped)
    }

    fn go(mut self, version: Option<&str>) -> (Vec<Cell>, Vec<String>) {
        self.skipped.push("gogc-100, the default".to_owned());
        let mut cells = vec![
            set("gogc-25", &[("GOGC", "25")]),
            set("gogc-50", &[("GOGC", "50")]),
            set("gogc-200", &[("GOGC", "200")]),
            set("limit-256MiB", &[("GOMEMLIMIT", "256MiB")]),
            set("limit-1GiB", &[("GOMEMLIMIT", "1GiB")]),
            set("gogc-50.limit-256MiB", &[("GOGC", "50"), ("GOMEMLIMIT", "256MiB")]),
        ];
        match version.and_then(minor_of_go) {
            // With Linux's MADV_FREE, freed memory still looked resident.
            Some(minor) if !(12..16).contains(&minor) => {
                self.skipped.push("madvdontneed-1, the default".to_owned());
            }
            Some(_) | None => cells.push(set("madvdontneed-1", &[("GODEBUG", "madvdontneed=1")])),
        }
        (cells, self.skipped)
    }

    fn preloads(self, own: &Preload) -> (Vec<Cell>, Vec<String>) {
        let mut cells = Vec::new();
        for preload in PackagedAllocator::ALL.into_iter().map(Preload::Known) {
            if preload != *own {
                cells.push(Cell {
                    label: preload.to_string(),
                    preload: Some(preload),
                    ..Cell::default()
                });
            }
        }
        (cells, self.skipped)
    }

    /// `reads` is the variable of a program that is not Node.js and passes it on to V8, with commas between the options.
    fn node(self, reads: Option<&str>) -> (Vec<Cell>, Vec<String>) {
        let option = |label: &str, value: &str| match reads {
            Some(variable) => set(label, &[(variable, &value.replace(' ', ","))]),
            None => set(label, &[("NODE_OPTIONS", value)]),
        };
        let cells = vec![
            option("semi-1", "--max-semi-space-size=1"),
            option("semi-8", "--max-semi-space-size=8"),
            option("semi-64", "--max-semi-space-size=64"),
            option("old-512", "--max-old-space-size=512"),
            option("old-1024", "--max-old-space-size=1024"),
            option("old-2048", "--max-old-space-size=2048"),
            option("semi-1.old-512", "--max-semi-space-size=1 --max-old-space-size=512"),
        ];
        (cells, self.skipped)
    }
}

fn set(label: &str, env: &[(&str, &str)]) -> Cell {
    Cell {
        label: label.to_owned(),
        env: env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        ..Cell::default()
    }
}

/// `go1.22.1` → 22.
fn minor_of_go(version: &str) -> Option<u32> {
    let (_, rest) = version.split_once("1.")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
