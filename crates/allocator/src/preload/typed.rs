//! The libraries that a user typed in the loader's variable, among the other variables of a server.

use std::path::{Path, PathBuf};

use super::compose;
use super::find::{FindError, Places};
use record::AllocatorFamily;
use record::Preload;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    /// The first existing library that has the name of an allocator.
    pub allocator: Option<PathBuf>,
    /// All other libraries, as they were typed.
    pub others: Vec<String>,
}

/// Splits the variable's value. A missing path is an error, since the loader only warns. A bare name is looked up in
/// the loader's list or left to the loader, like a path with `$LIB` or a relative one.
pub fn split_preload(value: &str, places: &Places) -> Result<Typed, FindError> {
    let mut typed = Typed::default();
    for name in compose::split(value) {
        let path = Path::new(name);
        if path.is_absolute() && !name.contains('$') && !path.is_file() {
            return Err(FindError::Missing(path.to_owned()));
        }
        let family = Preload::Path(path.to_owned()).family();
        let is_allocator = family.is_some_and(AllocatorFamily::is_replacement);
        if is_allocator
            && typed.allocator.is_none()
            && let Some(file) = library_file(name, places)
        {
            typed.allocator = Some(file);
        } else {
            typed.others.push(name.to_owned());
        }
    }
    Ok(typed)
}

/// The file that a name in the variable means; `None` if only the loader can know it.
fn library_file(name: &str, places: &Places) -> Option<PathBuf> {
    if name.contains('/') {
        let path = PathBuf::from(name);
        return Some(path).filter(|path| path.is_absolute() && path.is_file());
    }
    path_in_cache(name, places)
}

/// The path of a library in the loader's list: `libx.so.1 (libc6,x86-64) => /usr/lib/libx.so.1`.
fn path_in_cache(name: &str, places: &Places) -> Option<PathBuf> {
    for line in places.cache.lines() {
        if let Some((library, path)) = line.trim().split_once(" => ")
            && library.split_whitespace().next() == Some(name)
        {
            return Some(PathBuf::from(path.trim()));
        }
    }
    None
}

impl Typed {
    /// The variable's value without the allocator.
    pub fn without_allocator(&self) -> String {
        self.others.join(":")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocator_is_told_from_other_libraries_and_what_is_not_there_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let jemalloc = directory.path().join("libjemalloc.so.2");
        let other = directory.path().join("libown.so");
        for library in [&jemalloc, &other] {
            std::fs::write(library, "").unwrap();
        }
        let places = Places {
            root: PathBuf::from("/"),
            cache: format!("\tlibjemalloc.so.2 (libc6,x86-64) => {}\n", jemalloc.display()),
        };
        let other = other.display().to_string();
        let both = format!("{other}:{}", jemalloc.display());
        for (value, allocator, others) in [
            ("", None, vec![]),
            (&both, Some(&jemalloc), vec![other.as_str()]),
            ("libjemalloc.so.2", Some(&jemalloc), vec![]),
            ("libmimalloc.so.2", None, vec!["libmimalloc.so.2"]),
            ("libown.so", None, vec!["libown.so"]),
            ("$LIB/libjemalloc.so.2", None, vec!["$LIB/libjemalloc.so.2"]),
            ("./libjemalloc.so", None, vec!["./libjemalloc.so"]),
        ] {
            let typed = split_preload(value, &places).unwrap();
            assert_eq!(typed.allocator.as_ref(), allocator, "{value}");
            assert_eq!(typed.others, others, "{value}");
        }
        let missing = directory.path().join("nosuch.so");
        let error = split_preload(&format!("{other}:{}", missing.display()), &places).unwrap_err();
        assert_eq!(error, FindError::Missing(missing));
    }
}
