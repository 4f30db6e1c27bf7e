//! Whether a script may start another program, by its text alone. Which program that is shows only in a run.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A launcher is short. A bundled server that starts helpers has more code than this in one file.
const SHORT: u64 = 256 << 10;

/// Words by which a script of Node.js or Python starts a program.
const CALLS: [&str; 6] = [
    "child_process", "execve", "subprocess", "os.exec", "os.spawn", "os.posix_spawn",
];

/// Words by which a launcher names a Java virtual machine.
const JAVA: [&str; 4] = ["java", "JAVA_HOME", "JAVACMD", "JAVA_CMD"];

/// True if a script starts programs, or if a module that it imports by its path, or from beside it, does.
pub fn may_start(script: &Path, interpreter: &Path) -> bool {
    let Some(text) = read_short(script) else { return false };
    let name = interpreter.file_name().unwrap_or_default();
    // A script for Node.js may name every language that there is.
    let is_node = ["node", "nodejs", "bun"].iter().any(|node| *node == name);
    if calls_program(&text) || (!is_node && names_java(&text)) {
        return true;
    }
    if is_node {
        let mut paths = text
            .split(['"', '\''])
            .filter(|word| word.starts_with("./") || word.starts_with("../"));
        return paths.any(|path| imported_text(script, path).is_some_and(|text| calls_program(&text)));
    }
    let mut imports = text.lines().filter_map(imported_module);
    imports.any(|module| {
        let module = read_short(&script.with_file_name(format!("{module}.py")));
        module.is_some_and(|text| calls_program(&text) || names_java(&text))
    })
}

fn calls_program(text: &str) -> bool {
    CALLS.iter().any(|word| text.contains(word))
}

/// True if one of the words for Java occurs; comments after `#` do not count.
fn names_java(text: &str) -> bool {
    let code = text.lines().filter_map(|line| line.split('#').next());
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .any(|word| JAVA.contains(&word))
}

/// The text of the module that a script of Node.js imports by this path, which may lack its extension.
fn imported_text(script: &Path, path: &str) -> Option<String> {
    let directory = script.parent()?;
    let files = ["", ".js", ".cjs", ".mjs"].map(|extension| directory.join(format!("{path}{extension}")));
    read_short(files.iter().find(|file| file.is_file())?)
}

/// The module of `import a.b` and `from a.b import c`.
fn imported_module(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.strip_prefix("import ").or_else(|| line.strip_prefix("from "))?;
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    if name.is_empty() { None } else { Some(name) }
}

/// The text of a file; `None` if it is too long for a launcher, or no text.
fn read_short(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(SHORT + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > SHORT {
        return None;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_script_that_starts_programs_may_be_a_launcher() {
        let directory = tempfile::tempdir().unwrap();
        let long = format!("require('child_process')\n{}", " ".repeat(SHORT as usize));
        for (name, interpreter, text, may_start) in [
            ("native.js", "node", "require('child_process').spawn(tool)\n", true),
            ("bundle.js", "node", &long, false),
            ("plain.js", "node", "const languages = ['java'];\n", false),
            ("indirect.js", "node", "require('./native')\n", true),
            ("tool", "python3", "from tool import main\n", false),
            ("runs", "python3", "import subprocess\n", true),
            ("jdtls", "python3", "import launcher\nlauncher.main()\n", true),
            ("launcher.py", "python3", "jvm = ['java', '-jar', jar]\n", true),
            ("comment", "python3", "# not java\n", false),
        ] {
            let script = directory.path().join(name);
            std::fs::write(&script, text).unwrap();
            if name == "jdtls" {
                std::fs::write(directory.path().join("launcher.py"), "os.execvp('java', [jar])\n").unwrap();
            }
            let interpreter = Path::new("/usr/bin").join(interpreter);
            assert_eq!(super::may_start(&script, &interpreter), may_start, "{name}");
        }
        let jar = directory.path().join("app.jar");
        std::fs::write(&jar, b"PK\x03\x04\xff META-INF/java/").unwrap();
        assert!(
            !super::may_start(&jar, Path::new("/usr/bin/java")),
            "an archive is no script"
        );
    }
}
