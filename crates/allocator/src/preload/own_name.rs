//! The name of a library that stays when it is updated: the one by which programs need it, as a link to its file.

use std::path::{Path, PathBuf};

use super::super::elf;
use crate::paths::is_same_file;

/// The library under its own name (`libmimalloc.so.2` for `libmimalloc.so.2.0`), if that is the same file; else
/// unchanged.
pub fn by_own_name(library: &Path) -> PathBuf {
    if let Some(name) = elf::linking(library).and_then(|linking| linking.own_name) {
        let path = library.with_file_name(name);
        if is_same_file(&path, library) {
            return path;
        }
    }
    library.to_owned()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_library_is_shipped_by_the_name_that_stays() {
        let libc = elf::linking(&std::env::current_exe().unwrap()).unwrap();
        let this = std::env::current_exe().unwrap();
        let library = elf::needed(&this, &libc, &[])
            .found
            .into_iter()
            .find(|path| elf::is_libc(path));
        // A test program that no loader starts has none.
        let Some(library) = library else { return };
        let name = elf::linking(&library).unwrap().own_name.unwrap();
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("libversioned.so.1.2.3");
        fs::copy(&library, &file).unwrap();
        assert_eq!(by_own_name(&file), file, "the name is not there");
        fs::write(place.path().join(&name), "").unwrap();
        assert_eq!(by_own_name(&file), file, "the name is another file");
        fs::remove_file(place.path().join(&name)).unwrap();
        symlink(&file, place.path().join(&name)).unwrap();
        assert_eq!(by_own_name(&file), place.path().join(&name));
        assert_eq!(by_own_name(Path::new("/nowhere.so")), Path::new("/nowhere.so"));
    }
}
