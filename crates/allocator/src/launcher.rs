//! The native program in a script's package, if the script only starts it: npm packages with platform packages, and
//! Python wheels with an executable.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::elf;

/// A launcher is short. A bundled server that starts helpers has more code than this in one file.
const SHORT: u64 = 256 << 10;

/// Files of a launcher that are read, at most.
const SOURCES: usize = 64;

/// Files of its packages that are looked at, at most.
const FILES: usize = 4_000;

const DEPTH: usize = 8;

const OF_NODE: [&str; 2] = ["child_process", "execve"];

const OF_PYTHON: [&str; 4] = ["subprocess", "os.exec", "os.spawn", "os.posix_spawn"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Starts {
    /// This native program of its package.
    Native(PathBuf),
    /// Something, or nothing that matters: no program of its package is called like it.
    Perhaps,
    /// A Java virtual machine, for the archives of its package.
    Java,
}

/// What a script of Node.js starts; `None` of one that does its work itself.
pub fn of_node(script: &Path) -> Option<Starts> {
    let sources = sources(script)?;
    if !sources.iter().any(|text| names_any(text, &OF_NODE)) {
        return None;
    }
    let Some((package, manifest)) = package(script) else {
        return Some(Starts::Perhaps);
    };
    let mut binaries = natives(&package);
    let mut of_platform = Vec::new();
    let optional = manifest["optionalDependencies"].as_object();
    for name in optional.into_iter().flatten().map(|(name, _)| name) {
        let mut beside = package.ancestors().map(|path| path.join("node_modules").join(name));
        let Some(directory) = beside.find(|path| path.is_dir()) else {
            continue;
        };
        match is_for_a_platform(&directory) {
            true => of_platform.extend(natives(&directory)),
            false => binaries.extend(natives(&directory)),
        }
    }
    let largest = of_platform.iter().max_by_key(|path| size(path)).cloned();
    binaries.extend(of_platform);
    chosen(binaries, &names_of(script, &manifest), largest)
}

fn names_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// Whether a package is for one system or processor only, as those are that hold the program of another package.
fn is_for_a_platform(directory: &Path) -> bool {
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

/// What the program of a package may be called: its commands, and the script's own name.
fn names_of(script: &Path, manifest: &Value) -> BTreeSet<String> {
    let commands = manifest["bin"].as_object().into_iter().flatten();
    let package = manifest["name"].as_str().and_then(|name| name.rsplit('/').next());
    commands
        .map(|(name, _)| name.as_str())
        .chain(package)
        .map(str::to_owned)
        .chain(stem(script))
        .collect()
}

/// The text of a script and of the files of its own that it imports; `None` where one is too long for a launcher.
fn sources(script: &Path) -> Option<Vec<String>> {
    let mut paths = vec![script.to_owned()];
    let mut texts = Vec::new();
    while let Some(path) = paths.get(texts.len()).cloned() {
        let text = short(&path)?;
        for imported in text
            .split(['"', '\''])
            .filter(|word| word.starts_with("./") || word.starts_with("../"))
        {
            let base = path.parent()?.join(imported);
            let endings = ["", ".js", ".cjs", ".mjs"].map(|end| PathBuf::from(format!("{}{end}", base.display())));
            let file = endings.into_iter().find(|path| path.is_file());
            let is_source = |path: &PathBuf| path.extension().is_none_or(|end| end != "json" && end != "node");
            let file = file.filter(is_source).and_then(|path| fs::canonicalize(path).ok());
            paths.extend(file.filter(|path| !paths.contains(path) && paths.len() < SOURCES));
        }
        texts.push(text);
    }
    Some(texts)
}

/// What a script of Python starts, by the list of what its wheel installed; `None` of one that does its work itself.
pub fn of_python(script: &Path, sites: &[PathBuf]) -> Option<Starts> {
    let name = stem(script)?;
    let starts = |path: &Path| short(path).is_some_and(|text| names_any(&text, &OF_PYTHON));
    let of_wheel = sites.iter().find_map(|site| Some((site, record(site, script, &name)?)));
    let Some((site, listed)) = of_wheel else {
        return starts(script).then_some(Starts::Perhaps);
    };
    let files = listed.lines().filter_map(|line| line.split(',').next());
    let files: Vec<PathBuf> = files.take(FILES).map(|path| site.join(path)).collect();
    let mut sources = files
        .iter()
        .filter(|path| path.parent() != Some(site) && path.extension().is_some_and(|end| end == "py"));
    sources.find(|path| starts(path))?;
    if files
        .iter()
        .any(|path| path.extension().is_some_and(|end| end == "jar"))
    {
        return Some(Starts::Java);
    }
    let natives = files.into_iter().filter(|path| is_native(path)).collect();
    chosen(natives, &[name].into(), None)
}

/// The list of files installed with `script`: the `RECORD` of its wheel.
fn record(site: &Path, script: &Path, name: &str) -> Option<String> {
    let wheels = entries(site).into_iter();
    let wheels = wheels.filter(|path| path.extension().is_some_and(|end| end == "dist-info"));
    let own = format!("/{name},");
    wheels.into_iter().find_map(|wheel| {
        let text = fs::read_to_string(wheel.join("RECORD")).ok()?;
        let mut lines = text.lines().filter(|line| line.contains(&own));
        let is_own = |line: &str| {
            let path = line.split(',').next().map(|path| site.join(path));
            path.is_some_and(|path| same(&path, script))
        };
        lines.any(is_own).then_some(text)
    })
}

fn same(one: &Path, other: &Path) -> bool {
    fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}

fn stem(script: &Path) -> Option<String> {
    script.file_stem().map(|name| name.to_string_lossy().into_owned())
}

/// A text that is short enough for a launcher.
fn short(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(SHORT + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= SHORT).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// The native programs in a package, without those of other packages in it.
fn natives(package: &Path) -> Vec<PathBuf> {
    let (mut binaries, mut left) = (Vec::new(), FILES);
    below(package, DEPTH, &mut left, &is_native, &mut binaries);
    binaries.retain(|path| {
        let inner = path.strip_prefix(package).unwrap_or(path);
        !inner.iter().any(|part| part == "node_modules")
    });
    binaries
}

/// Of native programs the one that is called like the script, or else that of its platform: any other may be a helper.
fn chosen(mut natives: Vec<PathBuf>, names: &BTreeSet<String>, of_platform: Option<PathBuf>) -> Option<Starts> {
    natives.sort();
    let is_any = !natives.is_empty();
    let is_named = |path: &PathBuf| stem(path).is_some_and(|name| names.contains(&name));
    let named = natives.into_iter().filter(is_named);
    let named = named.max_by_key(|path| (size(path), Reverse(path.clone())));
    match named.or(of_platform) {
        Some(path) => Some(Starts::Native(path)),
        None => is_any.then_some(Starts::Perhaps),
    }
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |data| data.len())
}

/// Whether a file is a program for this system and processor, by its first bytes.
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

/// The files below a directory that are of a kind. Links are not followed.
pub(super) fn below(
    directory: &Path,
    depth: usize,
    left: &mut usize,
    is: &dyn Fn(&Path) -> bool,
    binaries: &mut Vec<PathBuf>,
) {
    for path in entries(directory) {
        if *left == 0 {
            return;
        }
        *left -= 1;
        match fs::symlink_metadata(&path) {
            Ok(data) if data.is_dir() && depth > 0 => below(&path, depth - 1, left, is, binaries),
            Ok(data) if data.is_file() && is(&path) => binaries.push(path),
            Ok(_) | Err(_) => {}
        }
    }
}

/// The entries of a directory by name; empty if it cannot be read.
pub(super) fn entries(directory: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = read.map(|entry| entry.path()).collect();
    paths.sort();
    paths
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
        assert_eq!(of_node(&package.join("bin/tool.js")), Some(Starts::Native(native)));
        assert_eq!(of_node(&package.join("bin/server.js")), None, "it starts nothing");
    }

    #[test]
    fn only_a_program_that_is_called_so_or_is_of_the_platform_is_followed() {
        let manifest =
            |optional: &str| format!(r#"{{ "name": "server", "optionalDependencies": {{ "{optional}": "1" }} }}"#);
        let starts = "require('child_process')\n";
        let (_place, root) = tree(
            &[
                (
                    "helped/package.json",
                    r#"{ "name": "helped", "bin": { "helped": "cli.js" } }"#,
                ),
                ("helped/cli.js", starts),
                ("of/package.json", &manifest("platform")),
                ("of/cli.js", starts),
                ("node_modules/platform/package.json", r#"{ "os": ["linux"] }"#),
                ("other/package.json", &manifest("search")),
                ("other/cli.js", starts),
                ("node_modules/search/package.json", "{}"),
                ("alone.js", starts),
            ],
            &["helped/bin/rg", "node_modules/platform/odd", "node_modules/search/rg"],
        );
        let of = |script: &str| of_node(&root.join(script));
        assert_eq!(of("helped/cli.js"), Some(Starts::Perhaps));
        let native = root.join("node_modules/platform/odd");
        assert_eq!(of("of/cli.js"), Some(Starts::Native(native)));
        assert_eq!(of("other/cli.js"), Some(Starts::Perhaps));
        assert_eq!(of("alone.js"), Some(Starts::Perhaps));
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
        assert_eq!(of_node(&server.join("cli.js")), None);
        assert_eq!(
            of_node(&root.join("node_modules/large/cli.js")),
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
        let starts = |name: &str| of_python(&root.join("bin").join(name), std::slice::from_ref(&site));
        assert_eq!(starts("tool"), Some(Starts::Native(site.join("tool/data/bin/tool"))));
        assert_eq!(starts("jls"), Some(Starts::Java));
        assert_eq!(starts("pure"), None);
        assert_eq!(starts("helped"), Some(Starts::Perhaps));
        assert_eq!(starts("alone"), Some(Starts::Perhaps));
        assert_eq!(starts("works"), None);
    }
}
