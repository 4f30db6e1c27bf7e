//! Who calls whose `malloc`, by the account that the loader of the GNU C library gives of it (pure).

use std::collections::{BTreeMap, BTreeSet};

/// Functions whose binding says who allocates.
const CALLS: [&str; 3] = ["malloc", "calloc", "realloc"];

/// What the loader said of a process, and of those that it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    /// Every file that something was bound for, as the loader calls it: a program by what it was started as.
    pub files: BTreeSet<String>,
    /// For each file the functions of allocation that it calls, and the file that serves them.
    pub served: BTreeMap<String, BTreeMap<&'static str, String>>,
}

impl Bindings {
    /// Adds what `LD_DEBUG=bindings` printed: lines such as
    /// ``28381: binding file /bin/ls [0] to /lib/libc.so.6 [0]: normal symbol `malloc' [GLIBC_2.2.5]``.
    pub fn read(&mut self, text: &str) {
        for line in text.lines() {
            let Some((file, rest)) = line
                .split_once("binding file ")
                .and_then(|(_, rest)| rest.split_once(" [0] to "))
            else {
                continue;
            };
            if !self.files.contains(file) {
                self.files.insert(file.to_owned());
            }
            let Some((by, symbol)) = rest.split_once(" [0]: normal symbol `") else {
                continue;
            };
            let symbol = symbol.split('\'').next().unwrap_or_default();
            if let Some(call) = CALLS.into_iter().find(|call| *call == symbol) {
                self.served
                    .entry(file.to_owned())
                    .or_default()
                    .insert(call, by.to_owned());
            }
        }
    }

    /// The functions of allocation that `library` serves a file.
    pub fn of<'b>(&'b self, file: &str, library: &str) -> BTreeSet<&'b str> {
        let served = self.served.get(file).into_iter().flatten();
        served
            .filter(|(_, by)| by.as_str() == library)
            .map(|(call, _)| *call)
            .collect()
    }
}

/// Why the loader did not load a library that it was told to: what stands in parentheses in its complaint.
pub fn refusal(stderr: &str, library: &str) -> Option<String> {
    let line = stderr
        .lines()
        .find(|line| line.contains("cannot be preloaded") && line.contains(library))?;
    let (_, why) = line.split_once("cannot be preloaded")?;
    let why = why.trim_start().strip_prefix('(').and_then(|why| why.rsplit_once(')'));
    Some(why.map_or("it does not say why", |(why, _)| why).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const JE: &str = "/usr/lib/libjemalloc.so.2";

    #[test]
    fn who_serves_whom_is_read_line_by_line() {
        let mut bindings = Bindings::default();
        bindings.read(
            "     7:\tbinding file ./my server [0] to /usr/lib/libjemalloc.so.2 [0]: normal symbol `malloc' [GLIBC_2.2.5]\n\
             \x20    7:\tbinding file ./my server [0] to /lib/libc.so.6 [0]: normal symbol `mallocx'\n\
             \x20    7:\tbinding file /lib/libc.so.6 [0] to /usr/lib/libjemalloc.so.2 [0]: normal symbol `calloc' [GLIBC_2.2.5]\n\
             \x20    7:\tsomething else\n\
             \x20    7:\tbinding file /lib/libz.so.1 [0] to /lib/libc.so.6 [0]: normal symbol `malloc' [GLIBC_2.2.5]\n",
        );
        assert_eq!(bindings.files.len(), 3);
        assert_eq!(bindings.of("./my server", JE), ["malloc"].into());
        assert_eq!(bindings.of("/lib/libc.so.6", JE), ["calloc"].into());
        assert_eq!(bindings.of("/lib/libz.so.1", JE), BTreeSet::new());
        assert_eq!(bindings.of("/lib/none", JE), BTreeSet::new());
    }

    #[test]
    fn what_the_loader_complains_of_is_in_parentheses() {
        let said = "ERROR: ld.so: object '/usr/lib/libjemalloc.so.2' from LD_PRELOAD cannot be preloaded (cannot allocate \
                    memory in static TLS block): ignored.\n";
        assert_eq!(
            refusal(said, JE).as_deref(),
            Some("cannot allocate memory in static TLS block")
        );
        assert_eq!(refusal(said, "/other.so"), None);
        assert_eq!(refusal("all is well", JE), None);
    }
}
