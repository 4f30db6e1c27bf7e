//! Reads scenario files and everything they include.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::decode::{Document, Segment};
use super::origin::Fetch;
use super::problem::{Mistake, MistakeReport};
use super::project::{self, Overrides, Project};
use super::scenario::{Isolation, Scenario, Workspace};
use super::step::Step;
use super::{check, include, kind, recorded};
use base::text::nearest;
use record::regular_file;

/// Longest file that is read, in bytes: a scenario of a hundred phases has some thousands.
const LONGEST_FILE: u64 = 1 << 20;
/// Most files that one scenario includes; a file included twice counts twice.
const MOST_INCLUDED: usize = 256;
/// Deepest nesting of includes.
const DEEPEST_INCLUDED: usize = 32;

#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The scenario with its includes merged and overrides applied.
    pub scenario: Scenario,
    pub path: PathBuf,
    /// Its text, followed by the text of each included file.
    pub text: String,
    /// SHA-256 over that text, in hexadecimal.
    pub sha256: String,
    pub project: Project,
}

impl Loaded {
    pub fn new(scenario: Scenario, path: PathBuf, text: String, mut project: Project) -> Loaded {
        if let Some(root) = scenario.start().root {
            project.folders = vec![root.resolve(Path::new(""), 1)];
        }
        let digest = Sha256::digest(text.as_bytes());
        Loaded {
            scenario,
            path,
            sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            text,
            project,
        }
    }

    /// The directory in which the server starts, in a copy of the workspace.
    pub fn start_directory(&self, copy: &Path) -> PathBuf {
        match self.scenario.start().root {
            Some(root) => root.resolve(copy, 1),
            None => copy.to_owned(),
        }
    }
}

/// Reads the scenario at `path`, or reports every mistake in it and in its includes. `None` if `fetch` leaves its workspace for
/// later.
pub fn load_scenario(path: &Path, overrides: &Overrides, fetch: &Fetch<'_>) -> Result<Option<Loaded>, MistakeReport> {
    let mut report = MistakeReport::default();
    if recorded::is_recorded(path) {
        return load_session(path, overrides, fetch);
    }
    let text = match read_text(path, "name a scenario file, such as scenarios/completions.toml") {
        Ok(text) => text,
        Err((why, cure)) => {
            let cure = similar_scenario(path).map_or_else(|| cure.to_owned(), |near| format!("did you mean `{near}`?"));
            report.add_loose(format!("cannot read the scenario `{}`: {why}", path.display()), cure);
            return Err(report);
        }
    };
    if let Some((title, cure)) = kind::no_scenario(&path.display().to_string(), &text) {
        report.add_loose(title, cure);
        return Err(report);
    }
    let (loaded, found) = load(path, &text, overrides, Isolation::default(), fetch);
    let (loaded, found) = match loaded {
        // Steps that write can be checked only when the isolation is known: an included file may set it.
        Some(Loaded { project, .. }) if project.isolation == Isolation::InPlace => {
            load(path, &text, overrides, Isolation::InPlace, fetch)
        }
        loaded => (loaded, found),
    };
    if found.is_empty() { Ok(loaded) } else { Err(found) }
}

/// Reads a recorded session as the scenario that plays it.
fn load_session(path: &Path, overrides: &Overrides, fetch: &Fetch<'_>) -> Result<Option<Loaded>, MistakeReport> {
    let mut report = MistakeReport::default();
    let shown = path.display().to_string();
    if overrides.workspace.is_none() {
        let title = format!("`{shown}` is a recorded session, which has no project of its own");
        report.add_loose(title, "name the project with --workspace");
    }
    let text = match recorded::scenario::text(path) {
        Ok(text) => text,
        Err(mistake) => {
            report.add_loose(mistake.words(&shown), mistake.cure);
            return Err(report);
        }
    };
    if !report.is_empty() {
        return Err(report);
    }
    let isolation = overrides.isolation.unwrap_or_default();
    let (loaded, found) = load(path, &text, overrides, isolation, fetch);
    if found.is_empty() { Ok(loaded) } else { Err(found) }
}

/// The existing scenario that a missing path probably means.
fn similar_scenario(path: &Path) -> Option<String> {
    if path.exists() {
        return None;
    }
    let directory = path
        .parent()
        .filter(|parent| *parent != Path::new(""))
        .unwrap_or(Path::new("."));
    let mut names: Vec<String> = fs::read_dir(directory)
        .ok()?
        .flatten()
        .map(|entry| file_name(&entry.path()))
        .collect();
    names.retain(|name| name.ends_with(".toml"));
    names.sort();
    let near = nearest(&file_name(path), names.iter().map(String::as_str))?;
    Some(path.with_file_name(near).display().to_string())
}

/// Reads the text of a scenario; its steps are checked against `isolation`.
fn load(
    path: &Path,
    text: &str,
    overrides: &Overrides,
    isolation: Isolation,
    fetch: &Fetch<'_>,
) -> (Option<Loaded>, MistakeReport) {
    let mut loader = Loader {
        overrides,
        fetch,
        isolation,
        texts: String::new(),
        included: 0,
        stack: fs::canonicalize(path).into_iter().collect(),
        written: Written::default(),
        project: None,
        is_left: false,
    };
    let (scenario, mut report) = loader.file(path, text, overrides.workspace.is_some());
    if overrides.workspace.is_some() {
        loader.overridden_project(&mut report);
    }
    let project = loader.project;
    let texts = loader.texts;
    let loaded = scenario.zip(project).map(|(mut scenario, project)| {
        scenario.seed = overrides.seed.or(scenario.seed);
        if overrides.full_decay {
            scenario.wait_for_full_decay();
        }
        Loaded::new(scenario, path.to_path_buf(), texts, project)
    });
    (loaded, report)
}

struct Loader<'o> {
    overrides: &'o Overrides,
    fetch: &'o Fetch<'o>,
    /// The isolation of the workspace, as far as known.
    isolation: Isolation,
    texts: String,
    /// Files included so far.
    included: usize,
    /// Files being read, outermost first, to find cycles.
    stack: Vec<PathBuf>,
    written: Written,
    project: Option<Project>,
    /// The project is fetched later.
    is_left: bool,
}

/// The workspace in the files; the first one set counts.
#[derive(Default)]
struct Written {
    workspace: Option<Workspace>,
    /// An earlier part was unreadable, so it may set another workspace.
    unclear: bool,
}

impl Written {
    fn add(&mut self, workspace: Option<Workspace>, unclear: bool) {
        if self.workspace.is_none() {
            self.unclear |= unclear;
            self.workspace = workspace;
        }
    }
}

/// The part of a scenario that `--workspace` needs; readable even if other parts are not.
#[derive(Deserialize)]
struct OnlyWorkspace {
    workspace: Option<Workspace>,
}

/// The fate of an included file.
enum Inclusion {
    Read,
    /// One file too many, with the mistake to report.
    Refused(Mistake),
    /// The mistake was reported for an earlier file.
    Skipped,
}

impl Loader<'_> {
    /// Reads one file and its includes. `settled`: an outer file or the command line sets the workspace.
    fn file(&mut self, path: &Path, text: &str, settled: bool) -> (Option<Scenario>, MistakeReport) {
        let shown = path.display().to_string();
        let mut report = MistakeReport::default();
        self.texts.push_str(&format!("# file: {}\n{text}\n", file_name(path)));
        let document = match Document::parse(text) {
            Ok(document) => document,
            Err(faults) => {
                self.written.add(None, true);
                report.add(&shown, text, faults);
                return (None, report);
            }
        };
        let newer = document.integer("format").and_then(|version| {
            let span = document.span(&["format".into()]);
            check::format(version, span)
        });
        if let Some(fault) = newer {
            self.written.add(None, true);
            report.add(&shown, text, vec![fault]);
            return (None, report);
        }
        let (only, unclear) = document.read::<OnlyWorkspace>();
        self.written
            .add(only.and_then(|only| only.workspace), !unclear.is_empty());
        let (scenario, mut faults) = document.read::<Scenario>();
        let Some(mut scenario) = scenario else {
            report.add(&shown, text, faults);
            return (None, report);
        };
        let mut later = check::scenario(&scenario, &document, self.isolation);
        let directory = path.parent().unwrap_or(Path::new(""));
        self.sessions(directory, &mut scenario, &document, &mut later);
        let has_workspace = scenario.workspace.is_some();
        if !settled {
            if let Some(workspace) = scenario.workspace.as_mut() {
                self.own_project(directory, workspace, &document, &mut later, &mut report);
            } else if scenario.include.is_empty() {
                let cure = "add `[workspace]` with `path` and `language`, or use --workspace";
                later.push(Mistake::new(0..0, "the scenario has no workspace", cure));
            }
        }
        let (included, inner) = self.includes(directory, &scenario, &document, &mut later, settled || has_workspace);
        faults.extend(independent(later, &faults));
        let scenario = include::flatten(scenario, included);
        if faults.is_empty() && inner.is_empty() {
            faults.extend(check::result(&scenario, &document));
        }
        report.add(&shown, text, faults);
        report.merge(inner);
        (Some(scenario), report)
    }

    /// Reads the files of recorded sessions.
    fn sessions(&self, directory: &Path, scenario: &mut Scenario, document: &Document<'_>, faults: &mut Vec<Mistake>) {
        for (phase_index, phase) in scenario.phases.iter_mut().enumerate() {
            for (step_index, step) in phase.steps.iter_mut().enumerate() {
                let Step::Session(session) = step else { continue };
                session.speed = self.overrides.speed.unwrap_or(session.speed);
                if session.file.is_empty() {
                    continue;
                }
                match recorded::read(&directory.join(&session.file)) {
                    Ok(recorded) => session.recorded = Arc::new(recorded),
                    Err(mistake) => {
                        let path: [Segment<'_>; 6] = [
                            "phase".into(),
                            phase_index.into(),
                            "steps".into(),
                            step_index.into(),
                            "session".into(),
                            "file".into(),
                        ];
                        let title = mistake.words(&session.file);
                        faults.push(Mistake::new(document.span(&path), title, mistake.cure));
                    }
                }
            }
        }
    }

    fn includes(
        &mut self,
        directory: &Path,
        scenario: &Scenario,
        document: &Document<'_>,
        faults: &mut Vec<Mistake>,
        settled: bool,
    ) -> (Vec<Scenario>, MistakeReport) {
        let mut parts = Vec::new();
        let mut report = MistakeReport::default();
        for (index, name) in scenario.include.iter().enumerate() {
            let span = document.span(&["include".into(), index.into()]);
            let inclusion = self.count_included(&span);
            if !matches!(inclusion, Inclusion::Read) {
                if let Inclusion::Refused(fault) = inclusion {
                    faults.push(fault);
                }
                self.written.add(None, true);
                break;
            }
            let path = directory.join(name);
            let beside = "included files are looked for beside this file";
            let whole = fs::canonicalize(&path).map_err(|error| (base::text::reason(&error), beside));
            let read = whole.and_then(|whole| Ok((whole, read_text(&path, beside)?)));
            let (whole, text) = match read {
                Ok(read) => read,
                Err((why, cure)) => {
                    self.written.add(None, true);
                    let title = format!("cannot read the included `{name}`: {why}");
                    faults.push(Mistake::new(span, title, cure));
                    continue;
                }
            };
            if let Some(from) = self.stack.iter().position(|outer| *outer == whole) {
                faults.push(cycle(span, &self.stack[from..], &whole));
                continue;
            }
            self.stack.push(whole);
            let settled = settled || self.project.is_some() || self.is_left;
            let (part, inner) = self.file(&path, &text, settled);
            self.stack.pop();
            report.merge(inner);
            if part.as_ref().is_some_and(|part| part.repeat.is_some()) {
                let title = format!("the included `{name}` repeats as a whole");
                faults.push(Mistake::new(
                    span,
                    title,
                    "give its phases a `repeat`, or this scenario",
                ));
            }
            parts.extend(part);
        }
        (parts, report)
    }

    /// Counts an included file. The first that is too much ends reading with a mistake, and all after it are skipped.
    fn count_included(&mut self, span: &Range<usize>) -> Inclusion {
        if self.included > MOST_INCLUDED {
            return Inclusion::Skipped;
        }
        let title = if self.included == MOST_INCLUDED {
            format!("this scenario includes over {MOST_INCLUDED} files, those of its includes among them")
        } else if self.stack.len() > DEEPEST_INCLUDED {
            format!("includes are nested over {DEEPEST_INCLUDED} files deep")
        } else {
            self.included += 1;
            return Inclusion::Read;
        };
        self.included = MOST_INCLUDED + 1;
        let cure = "include less; `repeat` plays a phase several times";
        Inclusion::Refused(Mistake::new(span.clone(), title, cure))
    }

    fn set_project(&mut self, project: Option<Project>) {
        self.is_left = project.is_none();
        self.project = project;
    }

    fn own_project(
        &mut self,
        directory: &Path,
        workspace: &mut Workspace,
        document: &Document<'_>,
        faults: &mut Vec<Mistake>,
        report: &mut MistakeReport,
    ) {
        match project::resolve(directory, workspace, self.overrides, self.fetch) {
            Ok(project) => self.set_project(project),
            Err(missing) => {
                let loose = missing.overridden(self.overrides);
                let (title, cure) = missing.words();
                if loose {
                    report.add_loose(title, cure)
                } else {
                    let path: [Segment<'_>; 2] = ["workspace".into(), missing.key().into()];
                    faults.push(Mistake::new(document.span(&path), title, cure));
                }
            }
        }
    }

    /// The project of `--workspace`, regardless of other mistakes. Does not report consequences of unreadable files.
    fn overridden_project(&mut self, report: &mut MistakeReport) {
        let mut workspace = self.written.workspace.take().unwrap_or_default();
        if self.written.unclear {
            // Any language works: the pattern of the command line does not depend on it.
            workspace.language.get_or_insert_default();
        }
        match project::resolve(Path::new(""), &workspace, self.overrides, self.fetch) {
            Ok(project) => self.set_project(project),
            Err(missing) if self.written.unclear && !missing.overridden(self.overrides) => {}
            Err(missing) => {
                let (title, cure) = missing.words();
                report.add_loose(title, cure);
            }
        }
    }
}

/// The mistakes of `later` that do not follow from an unreadable place.
pub(super) fn independent(later: Vec<Mistake>, earlier: &[Mistake]) -> Vec<Mistake> {
    let overlaps = |fault: &Mistake, other: &Mistake| {
        !fault.span.is_empty() && fault.span.start <= other.span.start && other.span.end <= fault.span.end
    };
    later
        .into_iter()
        .filter(|fault| !earlier.iter().any(|other| overlaps(fault, other)))
        .collect()
}

fn cycle(span: Range<usize>, chain: &[PathBuf], last: &Path) -> Mistake {
    let names: Vec<String> = chain
        .iter()
        .map(|path| file_name(path))
        .chain([file_name(last)])
        .collect();
    let title = format!("`{}` includes itself: {}", file_name(last), names.join(" → "));
    Mistake::new(span, title, "leave one of these includes out")
}

/// The text of a file; or why it is unreadable, and what to do. `cure` applies unless the file exists and is not text.
pub fn read_text(path: &Path, cure: &'static str) -> Result<String, (String, &'static str)> {
    let bytes = read_file(path).map_err(|error| (base::text::reason(&error), cure))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        (format!("line {line} is not UTF-8"), "save it as UTF-8")
    })
}

/// Follows links, because the user made them; refuses endless files.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let meta = fs::metadata(path)?;
    if meta.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !meta.is_file() {
        return Err(regular_file::not_regular());
    }
    regular_file::read(&fs::canonicalize(path)?, LONGEST_FILE)
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}
