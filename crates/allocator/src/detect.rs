//! Examines a program: its answer to the probe, its bytes, and its libraries.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::elf::{self, Linking};
use super::follow::{Followed, follow};
use super::modules;
use super::preload::VARIABLE;
use super::probe::{self, Subject};
use super::scan::{self, Mark};
use super::verdict::{Place, Signs, families, unasked, verdict};
use super::{behind, glibc, mimalloc, seen, stated};
use base::units;
use proctree::host;
use record::jemalloc;
use record::{AllocatorFacts, AllocatorFamily, Confidence, Evidence};

/// The facts about a program's allocator, and the files that settings are checked with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detection {
    pub facts: AllocatorFacts,
    /// The native program in the end.
    pub file: PathBuf,
    pub loader: Option<PathBuf>,
    /// Whether the program is Node.js, also where a module with an allocator of its own decides.
    pub node: bool,
    /// Whether the program is there to start another one that was not found: a shell, or a launcher that may be one.
    pub is_launcher: bool,
    /// The version that it printed; `None` if it printed none on stdout, or if a preloaded library may have printed it.
    pub version: Option<String>,
}

/// Finds the allocator of a server. `find` looks names up as the server would. It takes as long as the server takes for
/// its version, and a second for each GB of program; each process is killed when it is to `stop`.
pub fn detect(subject: &Subject, find: &dyn Fn(&str) -> Option<PathBuf>, stop: &dyn Fn() -> bool) -> Detection {
    if is_library(&subject.program) {
        return of_file(&subject.program, stop);
    }
    let followed = follow(subject, find, stop);
    let mut look = Inspection {
        evidence: followed.evidence.clone(),
        ..Inspection::default()
    };
    if followed.missing.is_some() {
        return Detection {
            facts: AllocatorFacts {
                evidence: look.evidence,
                ..AllocatorFacts::default()
            },
            file: followed.file,
            ..Detection::default()
        };
    }
    look.say(subject, stop);
    let file = look.files(subject, &followed, find, stop);
    let mut detection = look.detection(file);
    tune(&mut detection, subject, stop);
    detection
}

/// Why a program runs nothing, such as a toolchain's proxy without the toolchain; the program itself is not started.
pub fn missing(subject: &Subject, find: &dyn Fn(&str) -> Option<PathBuf>, stop: &dyn Fn() -> bool) -> Option<String> {
    follow(subject, find, stop).missing
}

/// Adds what malloc of the C library goes by, where it is surely what serves the program.
fn tune(detection: &mut Detection, subject: &Subject, stop: &dyn Fn() -> bool) {
    let facts = &mut detection.facts;
    let uses = [AllocatorFamily::Glibc, AllocatorFamily::Pymalloc].contains(&facts.family);
    let serves = uses && facts.confidence > Some(Confidence::Guess);
    let Some(loader) = detection.loader.as_ref().filter(|_| serves) else {
        return;
    };
    let none = BTreeMap::new();
    let listed = glibc::ask::listed(subject, loader, &none, stop);
    facts.options = glibc::ask::options(subject, &detection.file, &listed, &none, facts.version.as_deref());
    if !facts.options.is_empty() {
        let saw = format!(
            "the loader lists {} of malloc; those that are not set have malloc's defaults",
            units::counted(facts.options.len() as u64, "tunable")
        );
        facts.evidence.push(seen("libraries", saw));
    }
}

/// Detects the allocator in a file that cannot be started, such as a native module.
pub fn of_file(path: &Path, stop: &dyn Fn() -> bool) -> Detection {
    let mut look = Inspection::default();
    let saw = format!("`{}` is not a program, so lsp-soak did not run it", path.display());
    look.saw("probe", saw);
    let subject = Subject {
        program: path.to_owned(),
        ..Subject::default()
    };
    let followed = follow(&subject, &|_| None, stop);
    let file = look.files(&Subject::default(), &followed, &|_| None, stop);
    if look.signs.calls.contains("malloc") && families(&look.signs).is_empty() && look.signs.brought.is_empty() {
        let saw = "it calls malloc and has none of its own: it uses the allocator of the program that loads it";
        look.saw("libraries", saw.to_owned());
    }
    look.unasked(file)
}

/// Detects the allocator of a live process with the program `exe` and the mapped `libraries`, without a probe.
pub fn of_process(exe: &Path, libraries: &[PathBuf], stop: &dyn Fn() -> bool) -> Detection {
    let subject = Subject::default();
    let mut look = Inspection::default();
    look.bytes(exe);
    look.evidence.push(seen(
        "process",
        "lsp-soak inspects a running process and does not start it again".to_owned(),
    ));
    let linking = elf::linking(exe).unwrap_or_default();
    look.linked(&linking, libraries.iter().filter(|path| *path != exe), &subject, stop);
    look.node(exe, &subject, stop);
    look.unasked(exe.to_owned())
}

#[derive(Default)]
struct Inspection {
    signs: Signs,
    evidence: Vec<Evidence>,
    loader: Option<PathBuf>,
    version: Option<String>,
}

impl Inspection {
    fn saw(&mut self, source: &str, saw: String) {
        self.evidence.push(seen(source, saw));
    }

    fn say(&mut self, subject: &Subject, stop: &dyn Fn() -> bool) {
        let questions: Vec<(&str, &str)> = jemalloc::QUESTIONS.into_iter().chain([mimalloc::QUESTION]).collect();
        let heard = match probe::ask(subject, &questions, stop) {
            Ok(heard) => heard,
            Err(why) => return self.saw("probe", why),
        };
        self.signs.asked = heard.ended.is_some_and(|status| status.code().is_some());
        if !self.signs.asked {
            self.saw("probe", format!("`{}` was ended by a signal", subject.shown()));
        }
        let is_alone = subject.preloaded.is_empty() && subject.variable(VARIABLE).is_none();
        if is_alone && heard.ended.is_some_and(|status| status.success()) {
            self.version = host::version_in(&heard.said.stdout);
        }
        // As Deno prints it: `v8 15.0.245.2-rusty`.
        let v8 = heard.said.stdout.lines().find_map(|line| line.strip_prefix("v8 "));
        self.signs.v8 = v8.map(|version| version.trim().to_owned());
        let stderr = &heard.said.stderr;
        self.signs.jemalloc = jemalloc::read(stderr);
        self.signs.mimalloc = mimalloc::read(stderr);
        for statement in self.signs.jemalloc.clone() {
            let version = behind(statement.version.as_ref());
            let variable = statement
                .variable
                .as_deref()
                .unwrap_or("a variable that it does not name");
            self.saw("probe", format!("jemalloc{version} answered through {variable}"));
        }
        if let Some(statement) = self.signs.mimalloc.clone() {
            let version = behind(statement.version.as_ref());
            self.saw(
                "probe",
                format!("mimalloc{version} listed {} options", statement.options.len()),
            );
        }
        if self.signs.asked && self.signs.jemalloc.is_empty() && self.signs.mimalloc.is_none() {
            let saw = format!(
                "`{}` ran, and neither jemalloc nor mimalloc reported itself",
                subject.shown()
            );
            self.saw("probe", saw);
        }
    }

    /// Examines the final program and all that it loads. Returns the program.
    fn files(
        &mut self,
        subject: &Subject,
        followed: &Followed,
        find: &dyn Fn(&str) -> Option<PathBuf>,
        stop: &dyn Fn() -> bool,
    ) -> PathBuf {
        let mut file = followed.file.clone();
        if let Some((script, interpreter)) = &followed.script {
            let brought = modules::brought(script, interpreter, find);
            for module in &brought.modules {
                self.library(module, Place::Library, "wrapper");
            }
            let java = || match brought.started {
                Some("java") => java(subject, find),
                Some(_) | None => None,
            };
            if let Some(launched) = brought.launched.clone().or_else(java) {
                self.saw("wrapper", format!("its package starts `{}`", launched.display()));
                file = fs::canonicalize(&launched).unwrap_or(launched);
                self.signs.inferred = true;
            } else if let Some(name) = brought.started {
                let saw = format!(
                    "`{}` starts `{name}`, whose program is not known before the run",
                    script.display()
                );
                self.saw("wrapper", saw);
                self.signs.elsewhere = true;
            } else if brought.may_start {
                let saw = format!("`{}` starts programs, and may be a launcher of one", script.display());
                self.saw("wrapper", saw);
                self.signs.doubtful = true;
            }
        }
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        self.signs.shell = ["sh", "bash", "dash", "busybox", "zsh", "ksh"].contains(&name);
        self.signs.jvm = name == "java";
        self.bytes(&file);
        for library in &subject.preloaded {
            self.library(library, Place::Preloaded, "environment");
            // oneTBB's proxy only passes on what another library does.
            for under in elf::libraries(library, &elf::linking(library).unwrap_or_default(), &[]) {
                if is_named_so(&under) {
                    self.library(&under, Place::Preloaded, "environment");
                }
            }
        }
        let linking = elf::linking(&file).unwrap_or_default();
        let libraries = elf::libraries(&file, &linking, &subject.library_path());
        self.linked(&linking, libraries.iter(), subject, stop);
        self.node(&file, subject, stop);
        self.python(&file, subject, stop);
        file
    }

    /// The marks in the program's own bytes.
    fn bytes(&mut self, file: &Path) {
        match scan::file(file) {
            Ok(scan) => {
                self.signs.marks = scan.marks;
                self.signs.go = scan.go;
                self.runtimes(file);
            }
            Err(error) => {
                let why = base::text::reason(&error);
                return self.saw("file", format!("`{}` could not be read: {why}", file.display()));
            }
        }
        let families = families(&self.signs);
        if families.len() > 1 {
            let count = families.len();
            let saw = format!(
                "`{}` contains strings of {count} allocators, so the strings do not tell which one it uses",
                file.display()
            );
            self.saw("file", saw);
        } else if let Some(family) = families.first() {
            self.marked(file, *family, "file");
        }
        if let Some(release) = self.signs.go.clone() {
            self.saw("file", format!("`{}` was built with Go {release}", file.display()));
        }
    }

    /// What the marks say of a runtime in the program that has them.
    fn runtimes(&mut self, file: &Path) {
        const FLAGS: &str = "DENO_V8_FLAGS";
        let marks = &self.signs.marks;
        if marks.contains(&Mark::V8) && !marks.contains(&Mark::Node) {
            self.signs.flags = scan::contains(file, FLAGS).is_ok_and(|has| has).then_some(FLAGS);
            let read = self
                .signs
                .flags
                .map_or_else(String::new, |name| format!(", which reads {name}"));
            self.saw("file", format!("`{}` holds V8{read}", file.display()));
        }
        self.is_python(file);
    }

    /// Since 3.13 CPython contains a mimalloc that it uses only on request or without a lock; then it answers the
    /// probe.
    fn is_python(&mut self, file: &Path) {
        if self.signs.marks.contains(&Mark::Python) {
            self.signs.marks.remove(&Mark::Family(AllocatorFamily::Mimalloc));
            self.signs.python.get_or_insert_default();
            self.saw(
                "file",
                format!(
                    "`{}` is CPython, whose own allocator serves objects of up to 512 bytes, and the C library's the \
                     rest",
                    file.display()
                ),
            );
        }
    }

    /// A file has the marks of an allocator, and perhaps its version.
    fn marked(&mut self, file: &Path, family: AllocatorFamily, source: &str) {
        let version = stated::version(file, family);
        let shown = behind(version.as_ref());
        self.saw(source, format!("`{}` contains {family} symbols{shown}", file.display()));
        if let Some(version) = version {
            self.signs.versions.entry(family).or_insert(version);
        }
    }

    fn library(&mut self, path: &Path, place: Place, source: &str) {
        let Ok(candidates) = scan::file(path) else {
            return self.saw(source, format!("`{}` could not be read", path.display()));
        };
        if candidates.marks.contains(&Mark::Python) {
            self.signs.marks.insert(Mark::Python);
            return self.is_python(path);
        }
        let signs = Signs {
            marks: candidates.marks,
            ..Signs::default()
        };
        let candidates = families(&signs);
        // A library with signs of several allocators, such as a compiler's, is no evidence.
        let Some(family) = candidates.first().filter(|_| candidates.len() == 1) else {
            return;
        };
        self.signs.brought.insert((place, *family));
        self.marked(path, *family, source);
    }

    /// What the program is linked with: libraries, and the C library under them.
    fn linked<'p>(
        &mut self,
        linking: &Linking,
        libraries: impl Iterator<Item = &'p PathBuf>,
        subject: &Subject,
        stop: &dyn Fn() -> bool,
    ) {
        self.signs.calls.extend(&linking.calls);
        for path in libraries {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            self.signs.jvm |= name.starts_with("libjvm.") || name.starts_with("libjli.");
            if elf::is_libc(path) {
                continue;
            }
            // Those of the system that are no allocators are not read: there may be dozens.
            let system = path.starts_with("/lib") || path.starts_with("/usr/lib");
            if !system || is_named_so(path) || name.starts_with("libpython") {
                self.library(path, self.place(path), "libraries");
            }
            // Those of the system always call it, also under a Rust program that does not, unless one is its own.
            let counts = !system || !self.signs.marks.contains(&Mark::Rust) || linking.allocates_elsewhere;
            if let Some(linking) = elf::linking(path).filter(|_| counts) {
                self.signs.calls.extend(linking.calls);
            }
        }
        self.c_library(linking, subject, stop);
    }

    /// Where a library stands that the program needs. An allocator that is preloaded comes before it.
    fn place(&self, library: &Path) -> Place {
        let mut brought = self.signs.brought.iter();
        let has_other = brought.any(|(place, _)| *place == Place::Preloaded);
        match has_other && elf::serves_malloc(library) {
            true => Place::Covered,
            false => Place::Library,
        }
    }

    fn c_library(&mut self, linking: &Linking, subject: &Subject, stop: &dyn Fn() -> bool) {
        self.loader.clone_from(&linking.loader);
        let Some(loader) = &linking.loader else {
            let marked = [
                (Mark::Glibc, AllocatorFamily::Glibc),
                (Mark::Musl, AllocatorFamily::Musl),
            ];
            let own = marked.into_iter().find(|(mark, _)| self.signs.marks.contains(mark));
            if let Some((_, family)) = own {
                self.signs.libc = Some((family, None));
                self.saw("file", format!("{family} is linked into the program"));
            }
            return;
        };
        let musl = loader.to_string_lossy().contains("ld-musl");
        let family = if musl {
            AllocatorFamily::Musl
        } else {
            AllocatorFamily::Glibc
        };
        let args: &[&str] = if musl { &[] } else { &["--version"] };
        let heard = probe::ask_other(subject, loader, args, &[], stop);
        let version = heard.and_then(|heard| match musl {
            true => glibc::musl_version(&heard.said.stderr),
            false => glibc::version(&heard.said.stdout),
        });
        let shown = behind(version.as_ref());
        let calls: Vec<&str> = self.signs.calls.iter().copied().collect();
        let calls = match calls.as_slice() {
            [] => "none of the functions that allocate".to_owned(),
            calls => calls.join(", "),
        };
        self.saw("libraries", format!("linked with {family}{shown}, imports {calls}"));
        self.signs.libc = Some((family, version));
    }

    /// The version of Node.js, if the program is that.
    fn node(&mut self, file: &Path, subject: &Subject, stop: &dyn Fn() -> bool) {
        if !self.signs.marks.contains(&Mark::Node) {
            return;
        }
        let heard = probe::ask_other(subject, file, &["--version"], &[("NODE_OPTIONS", "")], stop);
        let version = heard.and_then(|heard| heard.said.stdout.trim().strip_prefix('v').map(str::to_owned));
        if let Some(version) = version {
            self.saw(
                "probe",
                format!("`{}` is Node.js {version}, which is V8", file.display()),
            );
            self.signs.node = Some(version);
        }
    }

    /// The version of CPython, if the program is that.
    fn python(&mut self, file: &Path, subject: &Subject, stop: &dyn Fn() -> bool) {
        let Some(version) = &mut self.signs.python else { return };
        let heard = probe::ask_other(subject, file, &["--version"], &[], stop);
        let version_text = heard.and_then(|heard| heard.said.stdout.trim().strip_prefix("Python ").map(str::to_owned));
        *version = version_text.unwrap_or_default();
    }

    /// The same without a probe, with the signs in its file.
    fn unasked(self, file: PathBuf) -> Detection {
        let marks = self.signs.marks.clone();
        let mut detection = self.detection(file);
        unasked(&mut detection.facts, &marks);
        detection
    }

    fn detection(self, file: PathBuf) -> Detection {
        let facts = AllocatorFacts {
            evidence: self.evidence,
            ..verdict(&self.signs)
        };
        Detection {
            facts,
            file,
            loader: self.loader,
            node: self.signs.node.is_some(),
            is_launcher: self.signs.is_launcher(),
            version: self.version,
        }
    }
}

/// The Java virtual machine that a launcher finds: that of `JAVA_HOME`, else the one on the search path.
fn java(subject: &Subject, find: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let home = subject
        .variable("JAVA_HOME")
        .map(|home| PathBuf::from(home).join("bin/java"));
    home.filter(|java| java.is_file()).or_else(|| find("java"))
}

/// Whether a library is called like an allocator.
fn is_named_so(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().contains("malloc"))
}

/// Libraries are often executable, and crash when they are run.
fn is_library(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let named = [".so", ".so.", ".node", ".dylib"]
        .iter()
        .any(|end| match end.strip_suffix('.') {
            Some(_) => name.contains(end),
            None => name.ends_with(end),
        });
    named && elf::linking(path).is_none_or(|linking| linking.loader.is_none())
}
