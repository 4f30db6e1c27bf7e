//! What a user typed in the loader's variable, for a server that was given it like any other setting.

use std::path::{Path, PathBuf};

use super::compose;
use super::find::{FindError, Places};
use record::AllocatorFamily;
use record::Preload;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    /// The first library that is an allocator's by its name.
    pub allocator: Option<PathBuf>,
    /// All others, as they were typed.
    pub others: Vec<String>,
}

/// Splits the variable's value. A missing path is an error, since the loader only warns. A bare name is looked up in
/// the loader's list or left to the loader, like a path with `$LIB` or a relative one.
pub fn typed(value: &str, places: &Places) -> Result<Typed, FindError> {
    let mut typed = Typed::default();
    for name in compose::split(value) {
        let path = Path::new(name);
        if path.is_absolute() && !name.contains('$') && !path.is_file() {
            return Err(FindError::Missing(path.to_owned()));
        }
        let family = Preload::Path(path.to_owned()).family();
        let is_allocator = family.is_some_and(AllocatorFamily::is_replacement);
        let file = match name.contains('/') {
            true => Some(path.to_owned()).filter(|path| path.is_absolute() && path.is_file()),
            false => listed(name, places),
        };
        match file.filter(|_| is_allocator && typed.allocator.is_none()) {
            Some(file) => typed.allocator = Some(file),
            None => typed.others.push(name.to_owned()),
        }
    }
    Ok(typed)
}

/// Where the loader has a library of this name.
fn listed(name: &str, places: &Places) -> Option<PathBuf> {
    let mut lines = places.cache.lines().filter_map(|line| line.trim().split_once(" => "));
    let is = |(listed, _): &(&str, &str)| listed.split_whitespace().next() == Some(name);
    lines.find(is).map(|(_, path)| PathBuf::from(path.trim()))
}

impl Typed {
    /// The rest of the variable.
    pub fn rest(&self) -> String {
        self.others.join(":")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocator_is_told_from_other_libraries_and_what_is_not_there_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, "").unwrap();
            path.display().to_string()
        };
        let (jemalloc, other) = (file("libjemalloc.so.2"), file("libown.so"));
        let places = Places {
            root: PathBuf::from("/"),
            cache: format!("\tlibjemalloc.so.2 (libc6,x86-64) => {jemalloc}\n"),
        };
        let read = |value: &str| typed(value, &places);
        let typed_value = |value: &str| read(value).map(|typed| (typed.allocator, typed.others.join(" ")));
        let allocator = || Some(PathBuf::from(&jemalloc));
        assert_eq!(typed_value(""), Ok((None, String::new())));
        assert_eq!(
            typed_value(&format!("{other}:{jemalloc}")),
            Ok((allocator(), other.clone()))
        );
        assert_eq!(typed_value("libjemalloc.so.2"), Ok((allocator(), String::new())));
        for left in [
            "libmimalloc.so.2", "libown.so", "$LIB/libjemalloc.so.2", "./libjemalloc.so",
        ] {
            assert_eq!(typed_value(left), Ok((None, left.to_owned())));
        }
        let missing = directory.path().join("nosuch.so");
        let error = read(&format!("{other}:{}", missing.display())).unwrap_err();
        assert_eq!(error, FindError::Missing(missing));
    }
}
