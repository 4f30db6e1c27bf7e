//! Tests of isolation and selection.

use std::fs;
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::*;
use crate::config::glob::Glob;
use base::Cancel;

/// A directory with a project in `source` and room for copies in `scratch`.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let place = Place { dir };
        for (path, text) in [
            ("a.py", "import b\n"),
            ("pkg/b.py", "x = 1\n"),
            ("pkg/ü c.py", "\n"),
            ("README.md", "# A\n"),
            (".venv/pyvenv.cfg", ""),
            (".venv/CACHEDIR.TAG", ""),
            (".venv/lib/d.py", ""),
            ("node_modules/e/f.py", ""),
            ("target/CACHEDIR.TAG", ""),
            ("target/g.py", ""),
            (".git/h.py", ""),
            ("pkg/__pycache__/i.py", ""),
        ] {
            place.write(path, text);
        }
        fs::create_dir(place.dir.path().join("scratch")).unwrap();
        place
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.source().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn source(&self) -> PathBuf {
        self.dir.path().join("source")
    }

    fn scratch(&self) -> PathBuf {
        self.dir.path().join("scratch")
    }

    fn open(&self, isolation: Isolation) -> Result<Workspace, WorkspaceError> {
        Workspace::open(&self.source(), isolation, &self.scratch(), &Cancel::default())
    }
}

/// Everything about a tree that must not change: names, contents, rights, times and link targets.
fn fingerprint(root: &Path) -> String {
    fn add(dir: &Path, hasher: &mut Sha256) {
        let mut entries: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            let meta = fs::symlink_metadata(&path).unwrap();
            hasher.update(format!(
                "{path:?} {:?} {:?}",
                meta.permissions(),
                meta.modified().unwrap()
            ));
            if meta.is_symlink() {
                hasher.update(format!("{:?}", fs::read_link(&path).unwrap()));
            } else if meta.is_dir() {
                add(&path, hasher);
            } else {
                hasher.update(fs::read(&path).unwrap());
            }
        }
    }
    let mut hasher = Sha256::new();
    add(root, &mut hasher);
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn exists_all(root: &Path, paths: &[&str]) -> Vec<bool> {
    paths.iter().map(|path| root.join(path).exists()).collect()
}

fn entries(dir: &Path) -> usize {
    fs::read_dir(dir)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_type().unwrap().is_dir())
        .count()
}

#[test]
fn a_copy_has_what_servers_need_and_nothing_of_caches_and_histories() {
    let place = Place::new();
    let workspace = place.open(Isolation::Copy).unwrap();
    let paths = ["a.py", "pkg/ü c.py", ".venv/lib/d.py", "node_modules/e/f.py"];
    assert_eq!(exists_all(workspace.root(), &paths), [true; 4]);
    assert_eq!(
        exists_all(workspace.root(), &["target", ".git", "pkg/__pycache__"]),
        [false; 3]
    );
}

#[test]
fn the_original_never_changes_whatever_is_done_to_the_copy() {
    let place = Place::new();
    let before = fingerprint(&place.source());
    let workspace = place.open(Isolation::Copy).unwrap();
    fs::write(workspace.root().join("a.py"), "changed").unwrap();
    fs::remove_dir_all(workspace.root().join("pkg")).unwrap();
    let scratch = workspace.root().parent().unwrap().to_owned();
    workspace.close().unwrap();
    assert!(!scratch.exists());
    assert_eq!(fingerprint(&place.source()), before);
}

#[cfg(unix)]
#[test]
fn a_copy_that_nothing_wrote_to_is_kept_and_any_other_is_made_anew() {
    use std::os::unix::fs::MetadataExt;
    let place = Place::new();
    let kept = KeptCopy::default();
    let open = || {
        let opened = kept.open(&place.source(), Isolation::Copy, &place.scratch(), &Cancel::default());
        let workspace = opened.unwrap();
        let inode = fs::metadata(workspace.root()).unwrap().ino();
        (workspace, inode)
    };
    let (workspace, first) = open();
    let (root, beside) = (workspace.root().to_owned(), workspace.root().with_file_name("cache"));
    fs::create_dir(&beside).unwrap();
    fs::read(root.join("a.py")).unwrap();
    kept.close(workspace).unwrap();
    assert!(root.exists() && !beside.exists(), "caches are fresh in every run");
    let before = fingerprint(&root);
    let touches: [fn(&Path); 4] = [
        |root| fs::write(root.join("a.py"), "import c\n").unwrap(),
        |root| fs::create_dir(root.join("pkg/__pycache__")).unwrap(),
        |root| fs::remove_file(root.join("README.md")).unwrap(),
        |root| {
            let file = fs::File::options().write(true).open(root.join("a.py")).unwrap();
            file.set_modified(SystemTime::now()).unwrap();
        },
    ];
    let mut last = first;
    for (number, touch) in touches.iter().enumerate() {
        let (workspace, inode) = open();
        assert_eq!(inode, last, "kept until touch {number}");
        touch(&root);
        kept.close(workspace).unwrap();
        assert!(!root.exists(), "touch {number}");
        let (workspace, inode) = open();
        assert_eq!(fingerprint(&root), before, "touch {number}");
        kept.close(workspace).unwrap();
        last = inode;
    }
    fs::write(root.join("late.py"), "").unwrap();
    let (workspace, _) = open();
    assert!(!root.join("late.py").exists(), "written to after it was kept");
    kept.close(workspace).unwrap();
    place.write("a.py", "import d\n");
    let (workspace, _) = open();
    assert_eq!(
        fs::read_to_string(root.join("a.py")).unwrap(),
        "import d\n",
        "the original has changed"
    );
    kept.close(workspace).unwrap();
    drop(kept);
    assert_eq!(entries(&place.scratch()), 1);
    assert!(!root.exists());
}

#[test]
fn every_run_gets_the_same_path_and_one_at_the_same_time_another_of_the_same_length() {
    let place = Place::new();
    let first = place.open(Isolation::Copy).unwrap();
    let second = place.open(Isolation::Copy).unwrap();
    let path = first.root().to_owned();
    assert_ne!(second.root(), path);
    assert_eq!(second.root().as_os_str().len(), path.as_os_str().len());
    drop(first);
    assert!(!path.exists());
    assert_eq!(place.open(Isolation::Copy).unwrap().root(), path);
}

#[test]
fn what_a_killed_run_left_behind_is_gone_with_the_next_one() {
    let place = Place::new();
    let home = scratch::user_directory(&place.scratch()).unwrap();
    for left in ["0123456789abcdef-0/workspace/x", "fedcba9876543210-3/overlay/work"] {
        fs::create_dir_all(home.join(left)).unwrap();
    }
    let workspace = place.open(Isolation::Copy).unwrap();
    assert_eq!(entries(&home), 1);
    fs::write(workspace.root().join("stale"), "").unwrap();
    // Simulates a kill: neither closed nor dropped; the system releases the lock.
    let mut killed = workspace;
    drop(killed.scratch.take());
    let path = killed.root().to_owned();
    assert!(path.join("stale").exists());
    let next = place.open(Isolation::Copy).unwrap();
    assert_eq!(next.root(), path);
    assert!(!path.join("stale").exists());
}

/// Directories so deep that no path leads to the last one, and more than a process may open.
#[cfg(unix)]
#[test]
fn nested_directories_are_removed() {
    use rustix::fs::{Mode, OFlags, mkdirat, openat};
    let place = Place::new();
    let workspace = place.open(Isolation::Copy).unwrap();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut here = openat(rustix::fs::CWD, workspace.root(), flags, Mode::empty()).unwrap();
    for _ in 0..5_000 {
        mkdirat(&here, "nested-directory", Mode::RWXU).unwrap();
        let below = openat(&here, "nested-directory", flags, Mode::empty()).unwrap();
        here = below;
    }
    rustix::fs::fchmod(&here, Mode::empty()).unwrap();
    let root = workspace.root().to_owned();
    workspace.close().unwrap();
    assert!(!root.exists());
}

#[cfg(unix)]
#[test]
fn links_are_removed_and_not_followed() {
    let place = Place::new();
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("kept"), "").unwrap();
    let workspace = place.open(Isolation::Copy).unwrap();
    std::os::unix::fs::symlink(other.path(), workspace.root().join("link")).unwrap();
    workspace.close().unwrap();
    assert!(other.path().join("kept").exists());
}

/// A mount or an immutable file takes root to make. What the system refuses to anybody is a program's own directory in
/// `/proc`, so a link in the slot's place stands for them.
#[cfg(unix)]
#[test]
fn a_place_that_cannot_be_emptied_is_passed_over() {
    let place = Place::new();
    let first = place.open(Isolation::Copy).unwrap();
    let path = first.root().to_owned();
    let slot = path.parent().unwrap().to_owned();
    first.close().unwrap();
    std::os::unix::fs::symlink("/proc/self", &slot).unwrap();
    let next = place.open(Isolation::Copy).unwrap();
    assert_ne!(next.root(), path);
    assert_eq!(next.root().as_os_str().len(), path.as_os_str().len());
    let [leftover] = next.leftovers() else {
        panic!("{:?}", next.leftovers());
    };
    let text = leftover.to_string();
    let start = format!("cannot remove `{}`", slot.display());
    assert!(
        text.starts_with(&start) && text.ends_with("remove the directory"),
        "{text}"
    );
    next.close().unwrap();
    fs::remove_file(&slot).unwrap();
    assert_eq!(place.open(Isolation::Copy).unwrap().root(), path);
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[cfg(unix)]
#[test]
fn what_others_can_look_into_or_lay_as_a_trap_is_closed_or_refused() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new();
    let home = scratch::user_directory(&place.scratch()).unwrap();
    assert_eq!(mode(&home), 0o700);
    fs::set_permissions(&home, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(
        scratch::user_directory(&place.scratch())
            .map(|home| mode(&home))
            .unwrap(),
        0o700
    );

    let trap = place.source();
    fs::remove_dir_all(&home).unwrap();
    symlink(&trap, &home).unwrap();
    let refused = place.open(Isolation::Copy).unwrap_err().to_string();
    assert!(
        refused.contains("is not a directory of this user") && refused.contains("TMPDIR"),
        "{refused}"
    );
    fs::remove_file(&home).unwrap();
    fs::write(&home, "").unwrap();
    assert!(place.open(Isolation::Copy).is_err());
}

#[cfg(unix)]
#[test]
fn every_user_has_a_place_of_their_own() {
    use std::os::unix::fs::MetadataExt;
    let place = Place::new();
    let home = scratch::user_directory(&place.scratch()).unwrap();
    let user = fs::metadata(&home).unwrap().uid().to_string();
    assert!(
        home.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .ends_with(&format!("-{user}"))
    );
}

#[test]
fn a_copy_in_use_is_not_swept_away() {
    let place = Place::new();
    let used = place.open(Isolation::Copy).unwrap();
    let other = tempfile::tempdir().unwrap();
    let _other = Workspace::open(other.path(), Isolation::Copy, &place.scratch(), &Cancel::default()).unwrap();
    assert!(used.root().join("a.py").exists());
}

#[test]
fn a_cancelled_copy_is_removed_with_all_that_was_made() {
    let place = Place::new();
    let cancel = Cancel::default();
    cancel.cancel();
    let stopped = Workspace::open(&place.source(), Isolation::Copy, &place.scratch(), &cancel);
    assert!(matches!(stopped, Err(WorkspaceError::Stopped)), "{stopped:?}");
    assert_eq!(entries(&scratch::user_directory(&place.scratch()).unwrap()), 0);
}

#[test]
fn times_are_kept() {
    let place = Place::new();
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let file = fs::File::options()
        .write(true)
        .open(place.source().join("a.py"))
        .unwrap();
    file.set_modified(then).unwrap();
    let workspace = place.open(Isolation::Copy).unwrap();
    assert_eq!(
        fs::metadata(workspace.root().join("a.py")).unwrap().modified().unwrap(),
        then
    );
}

#[cfg(unix)]
#[test]
fn rights_are_kept_and_what_is_read_only_can_be_saved_and_removed() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    let set = |path: &str, mode| {
        fs::set_permissions(place.source().join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("a.py", 0o755);
    set("pkg/b.py", 0o444);
    set("pkg", 0o555);
    let workspace = place.open(Isolation::Copy).unwrap();
    assert_eq!(mode(&workspace.root().join("a.py")), 0o755);
    assert_eq!(mode(&workspace.root().join("pkg/b.py")), 0o644);
    assert_eq!(mode(&workspace.root().join("pkg")), 0o755);
    workspace.close().unwrap();
    set("pkg", 0o755);
}

#[cfg(unix)]
#[test]
fn no_link_of_a_copy_leads_back_into_the_original() {
    use std::os::unix::fs::symlink;

    let place = Place::new();
    let outside = place.dir.path().join("outside");
    fs::write(&outside, "o").unwrap();
    let source = place.source().canonicalize().unwrap();
    let links = [
        ("pkg/up", PathBuf::from("../a.py"), "import b\n"),
        ("absolute", source.join("a.py"), "import b\n"),
        ("around", PathBuf::from("../source/a.py"), "import b\n"),
        ("out", PathBuf::from("../outside"), "o"),
    ];
    for (name, goal, _) in &links {
        symlink(goal, source.join(name)).unwrap();
    }
    symlink("nowhere", source.join("dangling")).unwrap();
    let workspace = place.open(Isolation::Copy).unwrap();
    for (name, _, text) in &links {
        let link = workspace.root().join(name);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{name}");
        assert_eq!(fs::read_to_string(&link).unwrap(), *text, "{name}");
        assert!(!link.canonicalize().unwrap().starts_with(&source), "{name}");
    }
    assert_eq!(
        fs::read_link(workspace.root().join("pkg/up")).unwrap(),
        Path::new("../a.py")
    );
    assert!(fs::symlink_metadata(workspace.root().join("dangling")).is_ok());
}

#[test]
fn in_place_is_the_original_and_leaves_it_there() {
    let place = Place::new();
    let workspace = place.open(Isolation::InPlace).unwrap();
    assert!(
        place
            .source()
            .canonicalize()
            .unwrap()
            .ends_with(workspace.root().file_name().unwrap())
    );
    workspace.close().unwrap();
    assert!(place.source().join("a.py").exists());
}

#[test]
fn where_blocks_cannot_be_shared_or_layers_mounted_the_error_says_what_to_do() {
    let place = Place::new();
    let before = fingerprint(&place.source());
    for isolation in [Isolation::Reflink, Isolation::Overlay] {
        match place.open(isolation) {
            Ok(workspace) => {
                fs::write(workspace.root().join("a.py"), "changed").unwrap();
                fs::remove_file(workspace.root().join("pkg/b.py")).unwrap();
                workspace.close().unwrap();
            }
            Err(error) => assert!(
                error
                    .to_string()
                    .ends_with("use `isolation = \"copy\"` or `--isolation copy`"),
                "{error}"
            ),
        }
        assert_eq!(fingerprint(&place.source()), before, "{isolation}");
        assert_eq!(
            entries(&scratch::user_directory(&place.scratch()).unwrap()),
            0,
            "{isolation}"
        );
    }
}

#[test]
fn what_cannot_be_served_is_named_with_a_cure() {
    let place = Place::new();
    let open = |path: &str, scratch: &Path| {
        let error = Workspace::open(
            &place.dir.path().join(path),
            Isolation::Copy,
            scratch,
            &Cancel::default(),
        )
        .unwrap_err();
        error.to_string()
    };
    let missing = open("nope", &place.scratch());
    assert!(
        missing.contains("nope` does not exist") && missing.contains("--workspace"),
        "{missing}"
    );
    assert!(open("source/a.py", &place.scratch()).contains("is not a directory"));
    let nested = open("source", &place.source().join("pkg"));
    assert!(
        nested.contains("lies inside the workspace") && nested.contains("TMPDIR"),
        "{nested}"
    );
}

fn chosen(place: &Place, pattern: &str, exclude: &[&str]) -> Result<Selection, WorkspaceError> {
    let exclude: Vec<Glob> = exclude.iter().map(|glob| glob.parse().unwrap()).collect();
    select(
        &place.source(),
        &pattern.parse().unwrap(),
        &exclude,
        "python",
        1 << 20,
        &Cancel::default(),
    )
}

#[test]
fn files_are_selected_in_order_without_those_of_others() {
    let place = Place::new();
    for (pattern, exclude, names) in [
        ("**/*.py", &[][..], &["a.py", "pkg/b.py", "pkg/ü c.py"][..]),
        ("**/*.py", &["pkg/ü*"], &["a.py", "pkg/b.py"]),
        ("*.py", &[], &["a.py"]),
        ("node_modules/**/*.py", &[], &["node_modules/e/f.py"]),
    ] {
        let files = chosen(&place, pattern, exclude).unwrap().files;
        let selected: Vec<&str> = files.iter().map(|file| file.relative.as_str()).collect();
        assert_eq!(selected, names, "{pattern}");
    }
}

#[test]
fn the_hash_is_of_paths_and_contents_and_the_same_in_a_copy() {
    let place = Place::new();
    let first = chosen(&place, "**/*.py", &[]).unwrap();
    assert_eq!((first.files.len(), first.bytes, first.sha256.len()), (3, 16, 64));
    let workspace = place.open(Isolation::Copy).unwrap();
    let copied = select(
        workspace.root(),
        &"**/*.py".parse().unwrap(),
        &[],
        "python",
        1 << 20,
        &Cancel::default(),
    )
    .unwrap();
    assert_eq!(copied.sha256, first.sha256);
    place.write("pkg/b.py", "x = 2\n");
    let second = chosen(&place, "**/*.py", &[]).unwrap();
    assert_ne!(second.sha256, first.sha256);
    fs::rename(place.source().join("pkg/b.py"), place.source().join("pkg/z.py")).unwrap();
    assert_ne!(chosen(&place, "**/*.py", &[]).unwrap().sha256, second.sha256);
}

#[test]
fn a_pattern_without_a_match_says_what_is_there_instead() {
    let place = Place::new();
    let message = chosen(&place, "**/*.rs", &[]).unwrap_err().to_string();
    assert!(
        message.contains("matches `**/*.rs` (4 files seen: 3 .py, 1 .md)"),
        "{message}"
    );
    let excluded = chosen(&place, "a.py", &["a.py"]).unwrap_err().to_string();
    assert!(excluded.contains("no file of"), "{excluded}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_large_file_keeps_its_holes_and_its_contents_in_a_copy() {
    use std::os::unix::fs::{FileExt, MetadataExt};

    let place = Place::new();
    let path = place.source().join("data.bin");
    let file = fs::File::create(&path).unwrap();
    file.set_len(1 << 30).unwrap();
    let pieces = [(0, "start"), (5 << 20, "in the middle"), ((1 << 30) - 3, "end")];
    for (at, text) in pieces {
        file.write_all_at(text.as_bytes(), at).unwrap();
    }
    let workspace = place.open(Isolation::Copy).unwrap();
    let copy = fs::File::open(workspace.root().join("data.bin")).unwrap();
    let meta = copy.metadata().unwrap();
    assert_eq!(meta.len(), 1 << 30);
    assert_ne!(
        meta.ino(),
        fs::metadata(&path).unwrap().ino(),
        "what is written to it is written to nobody's file"
    );
    assert!(
        meta.blocks() * 512 <= 16 << 20,
        "{} bytes are on the disk",
        meta.blocks() * 512
    );
    for (at, text) in pieces {
        let mut read = vec![0; text.len()];
        copy.read_exact_at(&mut read, at).unwrap();
        assert_eq!(read, text.as_bytes());
    }
}

#[test]
fn files_that_are_too_large_are_counted_and_not_selected() {
    let place = Place::new();
    fs::write(place.source().join("huge.py"), vec![b'x'; (1 << 20) + 1]).unwrap();
    let selection = select(
        &place.source(),
        &"**/*.py".parse().unwrap(),
        &[],
        "python",
        1 << 20,
        &Cancel::default(),
    )
    .unwrap();
    assert_eq!((selection.too_large, selection.largest), (1, 1 << 20));
    assert!(selection.files.iter().all(|file| file.relative != "huge.py"));
}
