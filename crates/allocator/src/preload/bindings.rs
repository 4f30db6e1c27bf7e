//! Finds the library that serves `malloc` in the debug output of the GNU C library's loader (pure).

use std::collections::{BTreeMap, BTreeSet};

/// All forms of C++'s `operator new`.
pub const NEW: &str = "new";

/// Functions whose binding shows who allocates, by their symbols.
const CALLS: [(&str, &str); 7] = [
    ("malloc", "malloc"),
    ("calloc", "calloc"),
    ("realloc", "realloc"),
    ("_Znwm", NEW),
    ("_Znam", NEW),
    ("_Znwj", NEW),
    ("_Znaj", NEW),
];

/// The loader prints this when a program is about to begin. The process may become another program later.
const BEGINS: &str = "transferring control: ";

/// The bindings of one program in one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Every bound file by the loader's name for it: for a program the name it was started by.
    pub files: BTreeSet<String>,
    /// For each file the functions of allocation that it imports, and the file that serves each of them.
    servers: BTreeMap<String, BTreeMap<&'static str, String>>,
}

/// Reads the output of `LD_DEBUG=bindings,libs` for one process: lines such as ``28381: binding file /bin/ls [0] to
/// /lib/libc.so.6 [0]: normal symbol `malloc' [GLIBC_2.2.5]``. After an `exec`, late bindings count to the next
/// program.
pub fn images(text: &str) -> Vec<Image> {
    let mut parts: Vec<&str> = text.split(BEGINS).collect();
    // The part after the last beginning has late bindings.
    let late = if parts.len() > 1 { parts.pop() } else { None };
    let mut images: Vec<Image> = parts.into_iter().map(Image::parse).collect();
    if let Some(late) = late
        && let Some(last) = images.last_mut()
    {
        last.add_bindings(late);
    }
    images
}

impl Image {
    fn parse(text: &str) -> Image {
        let mut image = Image::default();
        image.add_bindings(text);
        image
    }

    fn add_bindings(&mut self, text: &str) {
        for line in text.lines() {
            let Some((_, rest)) = line.split_once("binding file ") else {
                continue;
            };
            let Some((file, rest)) = rest.split_once(" [0] to ") else {
                continue;
            };
            if !self.files.contains(file) {
                self.files.insert(file.to_owned());
            }
            let Some((server, symbol)) = rest.split_once(" [0]: normal symbol `") else {
                continue;
            };
            let symbol = symbol.split('\'').next().unwrap_or_default();
            if let Some((_, call)) = CALLS.into_iter().find(|(name, _)| *name == symbol) {
                let servers = self.servers.entry(file.to_owned()).or_default();
                // A program that is not position-independent has a stub of the same name, which is bound to itself.
                if server != file || !servers.contains_key(call) {
                    servers.insert(call, server.to_owned());
                }
            }
        }
    }

    /// The functions of allocation that a file imports and `library` serves. A library also serves an `operator new` that
    /// calls its `malloc`.
    pub fn calls_served<'i>(&'i self, file: &str, library: &str) -> BTreeSet<&'i str> {
        let mut calls = BTreeSet::new();
        for (call, server) in self.servers.get(file).into_iter().flatten() {
            if server == library || (*call == NEW && self.malloc_server(server) == Some(library)) {
                calls.insert(*call);
            }
        }
        calls
    }

    /// True if `library` serves the `malloc` of any file.
    pub fn has_malloc_of(&self, library: &str) -> bool {
        self.files
            .iter()
            .any(|file| self.calls_served(file, library).contains("malloc"))
    }

    /// The file that serves the `malloc` of a file.
    fn malloc_server(&self, file: &str) -> Option<&str> {
        let server = self.servers.get(file)?.get("malloc")?;
        Some(server)
    }
}

/// The reason why the loader rejected a library: the parentheses of its complaint.
pub fn refusal(stderr: &str, library: &str) -> Option<String> {
    let line = stderr
        .lines()
        .find(|line| line.contains("cannot be preloaded") && line.contains(library))?;
    let (_, rest) = line.split_once("cannot be preloaded")?;
    let parenthesis = rest
        .trim_start()
        .strip_prefix('(')
        .and_then(|rest| rest.rsplit_once(')'));
    Some(match parenthesis {
        Some((why, _)) => why.to_owned(),
        None => "it does not say why".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const JE: &str = "/usr/lib/libjemalloc.so.2";

    #[test]
    fn who_serves_whom_is_read_line_by_line() {
        let images = images(
            "     7:\tbinding file ./my server [0] to /usr/lib/libjemalloc.so.2 [0]: normal symbol `malloc' [GLIBC_2.2.5]\n\
             \x20    7:\tbinding file ./my server [0] to /lib/libc.so.6 [0]: normal symbol `mallocx'\n\
             \x20    7:\tbinding file /lib/libc.so.6 [0] to /usr/lib/libjemalloc.so.2 [0]: normal symbol `calloc' [GLIBC_2.2.5]\n\
             \x20    7:\tsomething else\n\
             \x20    7:\tbinding file /lib/libz.so.1 [0] to /lib/libc.so.6 [0]: normal symbol `malloc' [GLIBC_2.2.5]\n",
        );
        let [image] = images.as_slice() else {
            panic!("{images:?}")
        };
        assert_eq!(image.files.len(), 3);
        assert_eq!(image.calls_served("./my server", JE), ["malloc"].into());
        assert_eq!(image.calls_served("/lib/libc.so.6", JE), ["calloc"].into());
        assert_eq!(image.calls_served("/lib/libz.so.1", JE), BTreeSet::new());
        assert_eq!(image.calls_served("/lib/none", JE), BTreeSet::new());
    }

    #[test]
    fn programs_that_one_process_was_are_told_apart() {
        let text = [
            binding("/lib/libtinfo.so.6"),
            binding("/bin/sh"),
            "7:\ttransferring control: /bin/sh\n".to_owned(),
            binding("server"),
            "7:\ttransferring control: server\n".to_owned(),
            binding("/lib/module.so"),
        ];
        let images = images(&text.concat());
        let files: Vec<Vec<&String>> = images.iter().map(|image| image.files.iter().collect()).collect();
        assert_eq!(files, [["/bin/sh", "/lib/libtinfo.so.6"], ["/lib/module.so", "server"]]);
    }

    /// The line that binds the `malloc` of a file to jemalloc.
    fn binding(file: &str) -> String {
        format!("7:\tbinding file {file} [0] to {JE} [0]: normal symbol `malloc'\n")
    }

    #[test]
    fn an_operator_new_is_served_by_the_malloc_that_it_calls() {
        for (malloc, served) in [(JE, BTreeSet::from([NEW])), ("/lib/libc.so.6", BTreeSet::new())] {
            let image = Image::parse(&format!(
                "7: binding file server [0] to /lib/libstdc++.so.6 [0]: normal symbol `_Znwm' [GLIBCXX_3.4]\n\
                 7: binding file /lib/libstdc++.so.6 [0] to {malloc} [0]: normal symbol `malloc' [GLIBC_2.2.5]\n"
            ));
            assert_eq!(image.calls_served("server", JE), served, "{malloc}");
        }
    }

    #[test]
    fn what_the_loader_complains_of_is_in_parentheses() {
        let stderr = "ERROR: ld.so: object '/usr/lib/libjemalloc.so.2' from LD_PRELOAD cannot be preloaded (cannot allocate \
                    memory in static TLS block): ignored.\n";
        assert_eq!(
            refusal(stderr, JE).as_deref(),
            Some("cannot allocate memory in static TLS block")
        );
        assert_eq!(refusal(stderr, "/other.so"), None);
        assert_eq!(refusal("all is well", JE), None);
    }
}
