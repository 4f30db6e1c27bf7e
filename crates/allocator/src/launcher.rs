//! The native program in a script's package, if the script only starts it: npm packages with platform packages, and
//! Python wheels with an executable.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::paths::{entries, is_same_file};
use serde_json::Value;

use super::elf;

/// A launcher is short. A bundled server that starts helpers has more code than this in one file.
const SHORT: u64 = 256 << 10;

/// Files of a launcher that are read, at most.
const SOURCES: usize = 64;

/// Files of its packages that are looked at, at most.
const FILES: usize = 4_000;

const DEPTH: usize = 8;

/// Words by which a script of Node.js starts a program.
const NODE_CALLS: [&str; 2] = ["child_process", "execve"];

/// Words by which a script of Python starts a program.
const PYTHON_CALLS: [&str; 4] = ["subprocess", "os.exec", "os.spawn", "os.posix_spawn"];

/// The program that a launcher starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Starts {
    /// This native program of its package.
    Native(PathBuf),
    /// Something, or nothing that matters: no program of its package is called like it.
    Perhaps,
    /// A Java virtual machine, for the archives of its package.
    Java,
}

/// The program that a script of Node.js starts; `None` if the script does its work itself.
pub fn started_by_node_script(script: &Path) -> Option<Starts> {
    let sources = sources(script)?;
    if !sources.iter().any(|text| contains_any(text, &NODE_CALLS)) {
        return None;
    }
    let Some((package, manifest)) = package(script) else {
        return Some(Starts::Perhaps);
    };
    let mut natives = native_programs(&package);
    let mut of_platform = Vec::new();
    let optional = manifest["optionalDependencies"].as_object();
    for (name, _) in optional.into_iter().flatten() {
        let Some(dependency) = installed_package(&package, name) else {
            continue;
        };
        if is_for_one_platform(&dependency) {
            of_platform.extend(native_programs(&dependency));
        } else {
            natives.extend(native_programs(&dependency));
        }
    }
    let largest = of_platform.iter().max_by_key(|path| size(path)).cloned();
    natives.extend(of_platform);
    choose_program(natives, &program_names(script, &manifest), largest)
}

fn contains_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// The directory of a dependency, where Node.js finds it from a package.
pub(super) fn installed_package(package: &Path, name: &str) -> Option<PathBuf> {
    let mut candidates = package.ancestors().map(|path| path.join("node_modules").join(name));
    candidates.find(|path| path.is_dir())
}

/// True for a package of one system or processor only: such a package holds the program of another package.
fn is_for_one_platform(directory: &Path) -> bool {
    let text = fs::read_to_string(directory.join("package.json")).unwrap_or_default();
    let manifest: Value = serde_json::from_str(&text).unwrap_or_default();
    manifest.get("os").is_some() || manifest.get("cpu").is_some()
}

/// The package that a script belongs to: its directory and its manifest.
pub fn package(script: &Path) -> Option<(PathBuf, Value)> {
    let directory = script.ancestors().find(|path| path.join("package.json").is_file())?;
    let text = fs::read_to_string(directory.join("package.json")).unwrap_or_default();
    Some((directory.to_owned(), serde_json::from_str(&text).unwrap_or_default()))
}

/// The names that the program of a package may have: its commands, and the script's own name.
fn program_names(script: &Path, manifest: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let commands = manifest["bin"].as_object().into_iter().flatten();
    names.extend(commands.map(|(name, _)| name.clone()));
    let package = manifest["name"].as_str().and_then(|name| name.rsplit('/').next());
    names.extend(package.map(str::to_owned));
    names.extend(stem(script));
    names
}

/// The text of a script and of the files of its own that it imports; `None` if one is too long for a launcher.
fn sources(script: &Path) -> Option<Vec<String>> {
    let mut paths = vec![script.to_owned()];
    let mut texts = Vec::new();
    while let Some(path) = paths.get(texts.len()).cloned() {
        let text = read_short(&path)?;
        for word in text.split(['"', '\'']) {
            if (word.starts_with("./") || word.starts_with("../"))
                && let Some(source) = imported_source(path.parent()?, word)
                && !paths.contains(&source)
                && paths.len() < SOURCES
            {
                paths.push(source);
            }
        }
        texts.push(text);
    }
    Some(texts)
}

/// The source file that a script in `directory` imports by a relative name, with or without its ending.
fn imported_source(directory: &Path, name: &str) -> Option<PathBuf> {
    let base = directory.join(name);
    let mut candidates = ["", ".js", ".cjs", ".mjs"]
        .map(|end| PathBuf::from(format!("{}{end}", base.display())))
        .into_iter();
    let file = candidates.find(|path| path.is_file())?;
    if has_ending(&file, "json") || has_ending(&file, "node") {
        return None;
    }
    fs::canonicalize(file).ok()
}

/// The program that a script of Python starts, by the list of what its wheel installed; `None` if the script does its
/// work itself.
pub fn started_by_python_script(script: &Path, sites: &[PathBuf]) -> Option<Starts> {
    let name = stem(script)?;
    let wheel = sites
        .iter()
        .find_map(|site| Some((site, wheel_record(site, script, &name)?)));
    let Some((site, record)) = wheel else {
        return if starts_program(script) {
            Some(Starts::Perhaps)
        } else {
            None
        };
    };
    let paths = record.lines().filter_map(|line| line.split(',').next());
    let files: Vec<PathBuf> = paths.take(FILES).map(|path| site.join(path)).collect();
    let mut sources = files
        .iter()
        .filter(|path| path.parent() != Some(site) && has_ending(path, "py"));
    if !sources.any(|path| starts_program(path)) {
        return None;
    }
    if files.iter().any(|path| has_ending(path, "jar")) {
        return Some(Starts::Java);
    }
    let natives = files.into_iter().filter(|path| is_native(path)).collect();
    choose_program(natives, &[name].into(), None)
}

/// True for a source of Python that is short enough for a launcher and starts programs.
fn starts_program(source: &Path) -> bool {
    read_short(source).is_some_and(|text| contains_any(&text, &PYTHON_CALLS))
}

/// The `RECORD` of the wheel that installed `script`: the list of all files that came with it.
fn wheel_record(site: &Path, script: &Path, name: &str) -> Option<String> {
    let end_of_path = format!("/{name},");
    for wheel in entries(site) {
        if !has_ending(&wheel, "dist-info") {
            continue;
        }
        let Ok(record) = fs::read_to_string(wheel.join("RECORD")) else {
            continue;
        };
        let lists_script = record.lines().filter(|line| line.contains(&end_of_path)).any(|line| {
            let path = line.split(',').next().unwrap_or_default();
            is_same_file(&site.join(path), script)
        });
        if lists_script {
            return Some(record);
        }
    }
    None
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|own| own == ending)
}

fn stem(script: &Path) -> Option<String> {
    script.file_stem().map(|name| name.to_string_lossy().into_owned())
}

/// The text of a file; `None` if it is too long for a launcher.
fn read_short(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(SHORT + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > SHORT {
        return None;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The native programs in a package, without those of other packages in it.
fn native_programs(package: &Path) -> Vec<PathBuf> {
    let mut budget = FILES;
    let mut programs = Vec::new();
    collect_files(package, DEPTH, &mut budget, is_native, &mut programs);
    programs.retain(|path| {
        let inner = path.strip_prefix(package).unwrap_or(path);
        !inner.iter().any(|part| part == "node_modules")
    });
    programs
}

/// Of native programs the one that is called like the script, or else that of its platform: any other may be a helper.
fn choose_program(natives: Vec<PathBuf>, names: &BTreeSet<String>, of_platform: Option<PathBuf>) -> Option<Starts> {
    let has_natives = !natives.is_empty();
    let named = natives
        .into_iter()
        .filter(|path| stem(path).is_some_and(|name| names.contains(&name)))
        .max_by_key(|path| (size(path), Reverse(path.clone())));
    match named.or(of_platform) {
        Some(path) => Some(Starts::Native(path)),
        None if has_natives => Some(Starts::Perhaps),
        None => None,
    }
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |data| data.len())
}

/// True for a program for this system and processor, by its first bytes.
fn is_native(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.contains(".so") || name.ends_with(".node") || name.ends_with(".dylib") {
        return false;
    }
    let mut magic = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    if read.is_err() {
        return false;
    }
    if cfg!(target_os = "macos") {
        return magic == [0xcf, 0xfa, 0xed, 0xfe];
    }
    if cfg!(windows) {
        return magic.starts_with(b"MZ") && path.extension().is_some_and(|end| end == "exe");
    }
    magic == *b"\x7fELF" && elf::is_linked(path) && elf::machine(path) == own_machine()
}

/// The kind of machine that lsp-soak itself is for.
fn own_machine() -> Option<elf::Machine> {
    elf::machine(&std::env::current_exe().ok()?)
}

/// Adds the files below a directory that are wanted to `files`. `budget` is the number of entries that may still be
/// looked at. Links are not followed.
pub(super) fn collect_files(
    directory: &Path,
    depth: usize,
    budget: &mut usize,
    is_wanted: fn(&Path) -> bool,
    files: &mut Vec<PathBuf>,
) {
    for path in entries(directory) {
        if *budget == 0 {
            return;
        }
        *budget -= 1;
        match fs::symlink_metadata(&path) {
            Ok(data) if data.is_dir() && depth > 0 => collect_files(&path, depth - 1, budget, is_wanted, files),
            Ok(data) if data.is_file() && is_wanted(&path) => files.push(path),
            Ok(_) | Err(_) => {}
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)], programs: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        for name in programs {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::copy("/bin/true", path).unwrap();
        }
        (directory, root)
    }

    const MANIFEST: &str = r#"{ "name": "@tool/cli", "bin": { "tool": "bin/tool.js" },
        "dependencies": { "helper": "1" }, "optionalDependencies": { "@tool/cli-here": "1", "@tool/cli-there": "1" } }"#;

    #[test]
    fn a_node_script_that_starts_the_program_of_its_platform_package_is_a_launcher() {
        let (_place, root) = tree(
            &[
                ("node_modules/@tool/cli/package.json", MANIFEST),
                ("node_modules/@tool/cli/bin/tool.js", "import \"../lib/start.js\";\n"),
                (
                    "node_modules/@tool/cli/lib/start.js",
                    "import { execFileSync } from \"node:child_process\";\n",
                ),
                ("node_modules/@tool/cli/bin/server.js", "console.log(1)\n"),
                ("node_modules/@tool/cli-here/lib/lib.d.ts", "larger than the program\n"),
            ],
            &[
                "node_modules/@tool/cli-here/lib/tool",
                "node_modules/@tool/cli-here/lib/helper",
            ],
        );
        let package = root.join("node_modules/@tool/cli");
        let native = root.join("node_modules/@tool/cli-here/lib/tool");
        assert_eq!(
            started_by_node_script(&package.join("bin/tool.js")),
            Some(Starts::Native(native))
        );
        assert_eq!(
            started_by_node_script(&package.join("bin/server.js")),
            None,
            "it starts nothing"
        );
    }

    #[test]
    fn only_a_program_that_is_called_so_or_is_of_the_platform_is_followed() {
        let starts = "require('child_process')\n";
        let (_place, root) = tree(
            &[
                (
                    "helped/package.json",
                    r#"{ "name": "helped", "bin": { "helped": "cli.js" } }"#,
                ),
                ("helped/cli.js", starts),
                (
                    "of/package.json",
                    r#"{ "name": "server", "optionalDependencies": { "platform": "1" } }"#,
                ),
                ("of/cli.js", starts),
                ("node_modules/platform/package.json", r#"{ "os": ["linux"] }"#),
                (
                    "other/package.json",
                    r#"{ "name": "server", "optionalDependencies": { "search": "1" } }"#,
                ),
                ("other/cli.js", starts),
                ("node_modules/search/package.json", "{}"),
                ("alone.js", starts),
            ],
            &["helped/bin/rg", "node_modules/platform/odd", "node_modules/search/rg"],
        );
        let native = root.join("node_modules/platform/odd");
        for (script, started) in [
            ("helped/cli.js", Starts::Perhaps),
            ("of/cli.js", Starts::Native(native)),
            ("other/cli.js", Starts::Perhaps),
            ("alone.js", Starts::Perhaps),
        ] {
            assert_eq!(started_by_node_script(&root.join(script)), Some(started), "{script}");
        }
    }

    #[test]
    fn a_server_with_a_native_helper_among_its_dependencies_is_no_launcher() {
        let (_place, root) = tree(
            &[
                (
                    "node_modules/server/package.json",
                    r#"{ "dependencies": { "ripgrep": "1" } }"#,
                ),
                ("node_modules/server/cli.js", "require('child_process').spawn(rg)\n"),
                ("node_modules/ripgrep/package.json", "{}"),
                ("node_modules/large/package.json", r#"{ "name": "large" }"#),
                (
                    "node_modules/large/cli.js",
                    &format!("require('child_process')\n{}", " ".repeat(SHORT as usize)),
                ),
            ],
            &[
                "node_modules/ripgrep/bin/rg",
                "node_modules/server/node_modules/other/bin/rg",
                "node_modules/large/rg",
            ],
        );
        let server = root.join("node_modules/server");
        assert_eq!(started_by_node_script(&server.join("cli.js")), None);
        assert_eq!(
            started_by_node_script(&root.join("node_modules/large/cli.js")),
            None,
            "a bundle is no launcher"
        );
    }

    #[test]
    fn a_python_script_that_starts_the_program_of_its_wheel_is_a_launcher() {
        let listed = "tool/__init__.py,sha256=x,1\ntool/data/bin/tool,sha256=x,1\n../../../bin/tool,sha256=x,1\n";
        let java = "jls/launcher.py,,\n../../jls/plugins/core.jar,,\n../../jls/jls,,\n../../../bin/jls,,\n";
        let (_place, root) = tree(
            &[
                ("bin/tool", "from tool import main\n"),
                ("bin/jls", "from jls.launcher import main\n"),
                ("bin/pure", "from pure import main\n"),
                ("bin/helped", "from helped import main\n"),
                ("bin/alone", "import subprocess\n"),
                ("bin/works", "print(1)\n"),
                ("lib/python3.11/site/helped/__init__.py", "import subprocess\n"),
                (
                    "lib/python3.11/site/helped-1.dist-info/RECORD",
                    "helped/__init__.py,,\nhelped/rg,,\n../../../bin/helped,,\n",
                ),
                ("lib/python3.11/site/tool/__init__.py", "import subprocess\n"),
                ("lib/python3.11/site/jls/launcher.py", "os.execv(jls, [jls])\n"),
                ("lib/python3.11/site/pure/__init__.py", "import subprocess\n"),
                ("lib/python3.11/site/tool-1.dist-info/RECORD", listed),
                ("lib/python3.11/site/jls-1.dist-info/RECORD", java),
                (
                    "lib/python3.11/site/pure-1.dist-info/RECORD",
                    "pure/__init__.py,,\n../../../bin/pure,,\n",
                ),
            ],
            &[
                "lib/python3.11/site/tool/data/bin/tool",
                "lib/python3.11/site/helped/rg",
                "lib/jls/jls",
            ],
        );
        let site = root.join("lib/python3.11/site");
        let sites = [site.clone()];
        for (name, started) in [
            ("tool", Some(Starts::Native(site.join("tool/data/bin/tool")))),
            ("jls", Some(Starts::Java)),
            ("pure", None),
            ("helped", Some(Starts::Perhaps)),
            ("alone", Some(Starts::Perhaps)),
            ("works", None),
        ] {
            let script = root.join("bin").join(name);
            assert_eq!(started_by_python_script(&script, &sites), started, "{name}");
        }
    }
}
