//! Examines a program: its answer to the probe, its bytes, and its libraries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::elf::{self, Linking};
use super::follow::{Followed, follow};
use super::preload::VARIABLE;
use super::probe::{self, Context, Subject};
use super::scan::{self, Mark};
use super::starts;
use super::verdict::{Place, Signs, families, name_variable, verdict};
use super::{evidence, glibc, mimalloc, stated, version_suffix};
use base::Cancel;
use base::units;
use proctree::host;
use record::jemalloc;
use record::{AllocatorFacts, AllocatorFamily, Confidence, Evidence};

/// How the run for the version ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProbeEnd {
    Exit,
    Signal,
    /// It was not run, or did not end in time.
    #[default]
    Unknown,
}

/// The facts about a program's allocator, and the files that settings are checked with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspected {
    pub facts: AllocatorFacts,
    /// The reason why the program runs nothing, and what to do, such as a toolchain's proxy without the toolchain. Such a
    /// program is not started.
    pub missing: Option<String>,
    /// The native program at the end of all wrappers.
    pub file: PathBuf,
    pub loader: Option<PathBuf>,
    /// True if the program is Node.js, even if `facts` are those of a native module's allocator.
    pub node: bool,
    /// True if the program only starts another one that was not found: a shell, or a script that may be a launcher.
    pub is_launcher: bool,
    pub probe: ProbeEnd,
    /// Its stderr when it ran for its version, on which a loader complains of preloads.
    pub stderr: String,
    /// The version in what it prints.
    pub version: Option<String>,
}

/// Looks at a server once. It takes as long as the server takes for its version, and a second for each GB of program. A
/// running probe is killed when it is cancelled.
pub fn inspect(subject: &Subject, cancel: &Cancel) -> Inspected {
    if is_library(&subject.program) {
        return detect_in_file(&subject.program, cancel);
    }
    let context = Context { subject, cancel };
    let followed = follow(&context);
    if followed.missing.is_some() {
        return Inspected {
            missing: followed.missing,
            facts: AllocatorFacts {
                evidence: followed.evidence,
                ..AllocatorFacts::default()
            },
            file: followed.file,
            ..Inspected::default()
        };
    }
    let mut inspection = Inspection::new(context);
    inspection.evidence.clone_from(&followed.evidence);
    inspection.run_probe();
    let file = inspection.inspect_files(&followed);
    let mut inspected = inspection.into_inspected(file);
    add_malloc_options(&mut inspected, &context);
    // Asked again where it printed none on stdout, or where a preloaded library may have printed it.
    if inspected.version.is_none() && inspected.probe != ProbeEnd::Unknown {
        inspected.version = probe::version(subject, cancel);
    }
    inspected
}

/// The reason why a server runs nothing, without running it: see [`Inspected::missing`].
pub fn reason_not_to_run(subject: &Subject, cancel: &Cancel) -> Option<String> {
    follow(&Context { subject, cancel }).missing
}

/// Adds the options of the C library's malloc, if it serves the program for sure.
fn add_malloc_options(inspected: &mut Inspected, context: &Context<'_>) {
    let facts = &mut inspected.facts;
    let uses_malloc = [AllocatorFamily::Glibc, AllocatorFamily::Pymalloc].contains(&facts.family);
    if !uses_malloc || facts.confidence <= Some(Confidence::Guess) {
        return;
    }
    let Some(loader) = &inspected.loader else { return };
    let env = BTreeMap::new();
    let subject = context.subject;
    let listed = glibc::ask::listed_tunables(subject, loader, &env, context.cancel);
    facts.options = glibc::ask::options(subject, &inspected.file, &listed, &env, facts.version.as_deref());
    if !facts.options.is_empty() {
        let saw = format!(
            "the loader lists {} of malloc; those that are not set have malloc's defaults",
            units::count_of(facts.options.len() as u64, "tunable")
        );
        facts.evidence.push(evidence("libraries", saw));
    }
}

/// Detects the allocator in a file that cannot be started, such as a native module.
pub fn detect_in_file(path: &Path, cancel: &Cancel) -> Inspected {
    let subject = Subject {
        program: path.to_owned(),
        ..Subject::default()
    };
    let context = Context {
        subject: &subject,
        cancel,
    };
    let mut inspection = Inspection::new(context);
    inspection.note(
        "probe",
        format!("`{}` is not a program, so lsp-soak did not run it", path.display()),
    );
    let file = inspection.inspect_files(&follow(&context));
    let signs = &inspection.signs;
    if signs.calls.contains("malloc") && families(signs).is_empty() && signs.library_families.is_empty() {
        let saw = "it calls malloc and has none of its own: it uses the allocator of the program that loads it";
        inspection.note("libraries", saw.to_owned());
    }
    inspection.into_unprobed(file)
}

/// Detects the allocator of a live process with the program `exe` and the mapped `libraries`, without a probe.
pub fn of_process(exe: &Path, libraries: &[PathBuf], cancel: &Cancel) -> Inspected {
    let subject = Subject::default();
    let mut inspection = Inspection::new(Context {
        subject: &subject,
        cancel,
    });
    inspection.inspect_bytes(exe);
    inspection.note(
        "process",
        "lsp-soak inspects a running process and does not start it again".to_owned(),
    );
    let linking = elf::linking(exe).unwrap_or_default();
    inspection.inspect_linked(&linking, libraries.iter().filter(|path| *path != exe));
    inspection.read_node_version(exe);
    inspection.into_unprobed(exe.to_owned())
}

/// Directories of the system's libraries.
const SYSTEM: [&str; 4] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];

/// Collects the signs of one program and how each was seen.
struct Inspection<'c> {
    context: Context<'c>,
    signs: Signs,
    evidence: Vec<Evidence>,
    loader: Option<PathBuf>,
    probe: ProbeEnd,
    stderr: String,
    version: Option<String>,
}

impl<'c> Inspection<'c> {
    fn new(context: Context<'c>) -> Inspection<'c> {
        Inspection {
            context,
            signs: Signs::default(),
            evidence: Vec::new(),
            loader: None,
            probe: ProbeEnd::Unknown,
            stderr: String::new(),
            version: None,
        }
    }

    fn note(&mut self, source: &str, saw: String) {
        self.evidence.push(evidence(source, saw));
    }

    /// Runs the program for its version, with the variables that make allocators report themselves.
    fn run_probe(&mut self) {
        let Context { subject, cancel, .. } = self.context;
        let mut questions = jemalloc::QUESTIONS.to_vec();
        questions.push(mimalloc::QUESTION);
        let heard = match probe::ask(subject, &questions, cancel) {
            Ok(heard) => heard,
            Err(why) => return self.note("probe", why),
        };
        self.signs.exited = heard.exit_status.is_some_and(|status| status.code().is_some());
        if self.signs.exited {
            self.probe = ProbeEnd::Exit;
        } else {
            self.probe = ProbeEnd::Signal;
            let saw = format!("`{}` was ended by a signal", subject.version_command());
            self.note("probe", saw);
        }
        let has_preload = !subject.preloaded.is_empty() || subject.variable(VARIABLE).is_some();
        if !has_preload && heard.exit_status.is_some_and(|status| status.success()) {
            self.version = host::version_in(&heard.said.stdout);
        }
        // As Deno prints it: `v8 15.0.245.2-rusty`.
        let v8 = heard.said.stdout.lines().find_map(|line| line.strip_prefix("v8 "));
        self.signs.v8 = v8.map(|version| version.trim().to_owned());
        let stderr = &heard.said.stderr;
        self.signs.jemalloc = jemalloc::read(stderr);
        self.signs.mimalloc = mimalloc::read(stderr);
        self.stderr = heard.said.stderr;
        self.note_answers();
    }

    fn note_answers(&mut self) {
        for output in self.signs.jemalloc.clone() {
            let version = version_suffix(output.version.as_ref());
            let variable = output.variable.as_deref().unwrap_or("a variable that it does not name");
            self.note("probe", format!("jemalloc{version} answered through {variable}"));
        }
        if let Some(output) = self.signs.mimalloc.clone() {
            let version = version_suffix(output.version.as_ref());
            self.note(
                "probe",
                format!("mimalloc{version} listed {} options", output.options.len()),
            );
        }
        if self.signs.exited && self.signs.jemalloc.is_empty() && self.signs.mimalloc.is_none() {
            let saw = format!(
                "`{}` ran, and neither jemalloc nor mimalloc reported itself",
                self.context.subject.version_command()
            );
            self.note("probe", saw);
        }
    }

    /// Examines the final program and all that it loads. Returns the program.
    fn inspect_files(&mut self, followed: &Followed) -> PathBuf {
        let file = followed.file.clone();
        if let Some((script, interpreter)) = &followed.script
            && starts::may_start(script, interpreter)
        {
            let saw = format!(
                "`{}` has words by which programs are started, so it may be a launcher",
                script.display()
            );
            self.note("wrapper", saw);
            self.signs.may_start = true;
        }
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        self.signs.shell = ["sh", "bash", "dash", "busybox", "zsh", "ksh"].contains(&name);
        self.signs.jvm = name == "java";
        self.inspect_bytes(&file);
        let subject = self.context.subject;
        for library in &subject.preloaded {
            self.inspect_library(library, Place::Preloaded, "environment");
            // oneTBB's proxy only passes on what another library does.
            for needed in elf::needed(library, &elf::linking(library).unwrap_or_default(), &[]).found {
                if is_named_like_allocator(&needed) {
                    self.inspect_library(&needed, Place::Preloaded, "environment");
                }
            }
        }
        let linking = elf::linking(&file).unwrap_or_default();
        let libraries = elf::needed(&file, &linking, &subject.library_path()).found;
        self.inspect_linked(&linking, libraries.iter());
        self.read_node_version(&file);
        self.read_python_version(&file);
        file
    }

    /// Looks for the marks of allocators and runtimes in the program's own bytes.
    fn inspect_bytes(&mut self, file: &Path) {
        match scan::file(file) {
            Ok(scan) => {
                self.signs.marks = scan.marks;
                self.signs.go = scan.go;
                self.note_runtimes(file);
            }
            Err(error) => {
                let why = base::text::reason(&error);
                return self.note("file", format!("`{}` could not be read: {why}", file.display()));
            }
        }
        let families = families(&self.signs);
        if families.len() > 1 {
            let count = families.len();
            let saw = format!(
                "`{}` contains strings of {count} allocators, so the strings do not tell which one it uses",
                file.display()
            );
            self.note("file", saw);
        } else if let Some(family) = families.first() {
            self.note_allocator(file, *family, "file");
        }
        if let Some(release) = self.signs.go.clone() {
            self.note("file", format!("`{}` was built with Go {release}", file.display()));
        }
    }

    /// Notes V8 and CPython, if the program's marks show them.
    fn note_runtimes(&mut self, file: &Path) {
        const FLAGS: &str = "DENO_V8_FLAGS";
        let marks = &self.signs.marks;
        if marks.contains(&Mark::V8) && !marks.contains(&Mark::Node) {
            let mut saw = format!("`{}` holds V8", file.display());
            if scan::contains(file, FLAGS).unwrap_or(false) {
                self.signs.flags = Some(FLAGS);
                saw.push_str(&format!(", which reads {FLAGS}"));
            }
            self.note("file", saw);
        }
        if self.signs.marks.contains(&Mark::Python) {
            // Since 3.13 it contains a mimalloc that it uses only on request or without a lock, and that answers the probe then.
            self.signs.marks.remove(&Mark::Family(AllocatorFamily::Mimalloc));
            self.note_python(file);
        }
    }

    /// Notes that a file contains CPython.
    fn note_python(&mut self, file: &Path) {
        self.signs.python.get_or_insert_default();
        let saw = format!(
            "`{}` is CPython, whose own allocator serves objects of up to 512 bytes, and the C library's the rest",
            file.display()
        );
        self.note("file", saw);
    }

    /// Notes that a file has the marks of an allocator, with the version that the file states.
    fn note_allocator(&mut self, file: &Path, family: AllocatorFamily, source: &str) {
        let version = stated::version(file, family);
        let suffix = version_suffix(version.as_ref());
        self.note(
            source,
            format!("`{}` contains {family} symbols{suffix}", file.display()),
        );
        if let Some(version) = version {
            self.signs.versions.entry(family).or_insert(version);
        }
    }

    fn inspect_library(&mut self, path: &Path, place: Place, source: &str) {
        let Ok(scan) = scan::file(path) else {
            return self.note(source, format!("`{}` could not be read", path.display()));
        };
        if scan.marks.contains(&Mark::Python) {
            return self.note_python(path);
        }
        let signs = Signs {
            marks: scan.marks,
            ..Signs::default()
        };
        let families = families(&signs);
        // A library with signs of several allocators, such as a compiler's, is no evidence.
        if families.len() == 1
            && let Some(family) = families.first()
        {
            self.signs.library_families.insert((place, *family));
            self.note_allocator(path, *family, source);
        }
    }

    /// Examines the libraries that the program is linked with, and the C library under them.
    fn inspect_linked<'p>(&mut self, linking: &Linking, libraries: impl Iterator<Item = &'p PathBuf>) {
        self.signs.calls.extend(&linking.calls);
        for path in libraries {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            self.signs.jvm |= name.starts_with("libjvm.") || name.starts_with("libjli.");
            if elf::is_libc(path) {
                continue;
            }
            // The system's libraries that are no allocators are not read: there may be dozens.
            let is_of_system = SYSTEM.iter().any(|directory| path.starts_with(directory));
            if !is_of_system || is_named_like_allocator(path) || name.starts_with("libpython") {
                self.inspect_library(path, self.place_of_library(path), "libraries");
            }
            // The system's libraries call malloc even under a Rust program that does not.
            let is_rust = self.signs.marks.contains(&Mark::Rust);
            let is_foreign = is_of_system || elf::is_runtime(path);
            let counts_calls = !is_foreign || !is_rust || linking.allocates_elsewhere;
            if counts_calls && let Some(linking) = elf::linking(path) {
                self.signs.calls.extend(linking.calls);
            }
        }
        self.inspect_c_library(linking);
    }

    /// The place of a library that the program needs. A preloaded allocator comes before it.
    fn place_of_library(&self, library: &Path) -> Place {
        let mut found = self.signs.library_families.iter();
        let has_preload = found.any(|(place, _)| *place == Place::Preloaded);
        if has_preload && elf::serves_malloc(library) {
            Place::Covered
        } else {
            Place::Library
        }
    }

    fn inspect_c_library(&mut self, linking: &Linking) {
        self.loader.clone_from(&linking.loader);
        let Some(loader) = &linking.loader else {
            return self.note_static_c_library();
        };
        let Context { subject, cancel, .. } = self.context;
        let (family, version) = if loader.to_string_lossy().contains("ld-musl") {
            let heard = probe::ask_other(subject, loader, &[], &[], cancel);
            let version = heard.and_then(|heard| glibc::musl_version(&heard.said.stderr));
            (AllocatorFamily::Musl, version)
        } else {
            let heard = probe::ask_other(subject, loader, &["--version"], &[], cancel);
            let version = heard.and_then(|heard| glibc::version(&heard.said.stdout));
            (AllocatorFamily::Glibc, version)
        };
        let suffix = version_suffix(version.as_ref());
        let calls: Vec<&str> = self.signs.calls.iter().copied().collect();
        let imports = if calls.is_empty() {
            "none of the functions that allocate".to_owned()
        } else {
            calls.join(", ")
        };
        let saw = if self.signs.calls == linking.calls {
            format!("linked with {family}{suffix}, imports {imports}")
        } else {
            format!("linked with {family}{suffix}; with its libraries it imports {imports}")
        };
        self.note("libraries", saw);
        self.signs.libc = Some((family, version));
    }

    fn note_static_c_library(&mut self) {
        let family = if self.signs.marks.contains(&Mark::Glibc) {
            AllocatorFamily::Glibc
        } else if self.signs.marks.contains(&Mark::Musl) {
            AllocatorFamily::Musl
        } else {
            return;
        };
        self.signs.libc = Some((family, None));
        self.note("file", format!("{family} is linked into the program"));
    }

    /// Asks for the version of Node.js, if the program is that.
    fn read_node_version(&mut self, file: &Path) {
        if !self.signs.marks.contains(&Mark::Node) || is_library(file) {
            return;
        }
        let Context { subject, cancel, .. } = self.context;
        let Some(heard) = probe::ask_other(subject, file, &["--version"], &[("NODE_OPTIONS", "")], cancel) else {
            return;
        };
        if let Some(version) = heard.said.stdout.trim().strip_prefix('v') {
            self.note(
                "probe",
                format!("`{}` is Node.js {version}, which is V8", file.display()),
            );
            self.signs.node = Some(version.to_owned());
        }
    }

    /// Asks for the version of CPython, if the program is that.
    fn read_python_version(&mut self, file: &Path) {
        if self.signs.python.is_none() || is_library(file) {
            return;
        }
        let Context { subject, cancel, .. } = self.context;
        let heard = probe::ask_other(subject, file, &["--version"], &[], cancel);
        let version = heard.and_then(|heard| heard.said.stdout.trim().strip_prefix("Python ").map(str::to_owned));
        self.signs.python = Some(version.unwrap_or_default());
    }

    /// The result without a probe: the variable of a jemalloc is the one that its file names.
    fn into_unprobed(self, file: PathBuf) -> Inspected {
        let marks = self.signs.marks.clone();
        let mut inspected = self.into_inspected(file);
        name_variable(&mut inspected.facts, &marks);
        inspected
    }

    fn into_inspected(self, file: PathBuf) -> Inspected {
        let facts = AllocatorFacts {
            evidence: self.evidence,
            ..verdict(&self.signs)
        };
        Inspected {
            facts,
            missing: None,
            file,
            loader: self.loader,
            node: self.signs.node.is_some(),
            is_launcher: self.signs.is_launcher(),
            probe: self.probe,
            stderr: self.stderr,
            version: self.version,
        }
    }
}

fn is_named_like_allocator(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().contains("malloc"))
}

/// True for a library by name that names no loader. Libraries are often executable, and crash when they are run.
fn is_library(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_named_like_library =
        [".so", ".node", ".dylib"].iter().any(|end| name.ends_with(end)) || name.contains(".so.");
    is_named_like_library && elf::linking(path).is_none_or(|linking| linking.loader.is_none())
}
