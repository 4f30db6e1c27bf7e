//! Which library serves `malloc`, by the debug output of the GNU C library's loader (pure).

use std::collections::{BTreeMap, BTreeSet};

/// C++'s `operator new`, in whichever form.
pub const NEW: &str = "new";

/// Functions whose binding shows who allocates, with their names here.
const CALLS: [(&str, &str); 7] = [
    ("malloc", "malloc"),
    ("calloc", "calloc"),
    ("realloc", "realloc"),
    ("_Znwm", NEW),
    ("_Znam", NEW),
    ("_Znwj", NEW),
    ("_Znaj", NEW),
];

/// What the loader prints when a program is about to begin. A process may become another program after that.
const BEGINS: &str = "transferring control: ";

/// What the loader said of one program in one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Every bound file by the loader's name for it: for a program the name it was started by.
    pub files: BTreeSet<String>,
    /// For each file the functions of allocation that were bound in its name, and the file that serves them.
    served: BTreeMap<String, BTreeMap<&'static str, String>>,
}

/// Reads the output of `LD_DEBUG=bindings,libs` for one process: lines such as ``28381: binding file /bin/ls [0] to
/// /lib/libc.so.6 [0]: normal symbol `malloc' [GLIBC_2.2.5]``. After an `exec`, late bindings count to the next
/// program.
pub fn images(text: &str) -> Vec<Image> {
    let mut parts: Vec<&str> = text.split(BEGINS).collect();
    let rest = if parts.len() > 1 { parts.pop() } else { None };
    let mut images: Vec<Image> = parts.into_iter().map(Image::of).collect();
    if let Some((last, rest)) = images.last_mut().zip(rest) {
        last.read(rest);
    }
    images
}

impl Image {
    fn of(text: &str) -> Image {
        let mut image = Image::default();
        image.read(text);
        image
    }

    fn read(&mut self, text: &str) {
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
            if let Some((_, call)) = CALLS.into_iter().find(|(name, _)| *name == symbol) {
                let served = self.served.entry(file.to_owned()).or_default();
                // A program that is not position-independent has a stub of the same name, which is bound to itself.
                if by != file || !served.contains_key(call) {
                    served.insert(call, by.to_owned());
                }
            }
        }
    }

    /// The functions of allocation that `library` serves in the name of a file. It serves an `operator new` that calls its
    /// `malloc`, too.
    pub fn of_library<'i>(&'i self, file: &str, library: &str) -> BTreeSet<&'i str> {
        let calls_it = |by: &String| {
            let malloc = self.served.get(by).and_then(|served| served.get("malloc"));
            malloc.is_some_and(|malloc| malloc == library)
        };
        let served = self.served.get(file).into_iter().flatten();
        served
            .filter(|(call, by)| *by == library || (**call == NEW && calls_it(by)))
            .map(|(call, _)| *call)
            .collect()
    }
}

/// Why the loader rejected a library: the parentheses of its complaint.
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
        assert_eq!(image.of_library("./my server", JE), ["malloc"].into());
        assert_eq!(image.of_library("/lib/libc.so.6", JE), ["calloc"].into());
        assert_eq!(image.of_library("/lib/libz.so.1", JE), BTreeSet::new());
        assert_eq!(image.of_library("/lib/none", JE), BTreeSet::new());
    }

    #[test]
    fn programs_that_one_process_was_are_told_apart() {
        let bound = |file: &str| format!("7:\tbinding file {file} [0] to {JE} [0]: normal symbol `malloc'\n");
        let begins = |file: &str| format!("7:\ttransferring control: {file}\n");
        let text = [
            bound("/lib/libtinfo.so.6"),
            bound("/bin/sh"),
            begins("/bin/sh"),
            bound("server"),
            begins("server"),
            bound("/lib/module.so"),
        ];
        let files = images(&text.concat()).into_iter().map(|image| image.files);
        let files: Vec<Vec<String>> = files.map(|files| files.into_iter().collect()).collect();
        assert_eq!(files, [["/bin/sh", "/lib/libtinfo.so.6"], ["/lib/module.so", "server"]]);
    }

    #[test]
    fn an_operator_new_is_served_by_the_malloc_that_it_calls() {
        let image = |malloc: &str| {
            Image::of(&format!(
                "7: binding file server [0] to /lib/libstdc++.so.6 [0]: normal symbol `_Znwm' [GLIBCXX_3.4]\n\
                 7: binding file /lib/libstdc++.so.6 [0] to {malloc} [0]: normal symbol `malloc' [GLIBC_2.2.5]\n"
            ))
        };
        assert_eq!(image(JE).of_library("server", JE), [NEW].into());
        assert_eq!(image("/lib/libc.so.6").of_library("server", JE), BTreeSet::new());
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
