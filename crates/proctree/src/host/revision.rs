//! The git revision of a project.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::subprocess::{ProgramOutput, ask};
use base::Cancel;
use record::Revision;

/// A status of a very large project on a cold disk takes seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// Variables that point git at another repository, such as those that its hooks set.
pub const ELSEWHERE: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_PREFIX",
];

/// The checked-out commit of the directory; `None` outside a git checkout, without git, or if the commit does not cover
/// the directory: it has no file of it, or git ignores it.
pub fn revision(directory: &Path, cancel: &Cancel) -> Option<Revision> {
    let commit = git(directory, &["rev-parse", "--verify", "HEAD"], cancel)?;
    git(directory, &["rev-parse", "--verify", "HEAD:./"], cancel)?;
    // Even if a file was added by force: git reports no changes of the ignored ones, which are served too.
    if git(directory, &["check-ignore", "--quiet", "--no-index", "."], cancel).is_some() {
        return None;
    }
    // Only files in this directory are served, including untracked ones.
    let changed = git(directory, &["status", "--porcelain", "--", "."], cancel);
    Some(Revision {
        commit: commit.stdout.trim().to_owned(),
        dirty: changed.map(|changes| !changes.stdout.trim().is_empty()),
    })
}

/// Writes nothing to the project: neither its index, nor through a configured monitor.
fn git(directory: &Path, args: &[&str], cancel: &Cancel) -> Option<ProgramOutput> {
    let mut command = Command::new("git");
    command.args(["--no-optional-locks", "-c", "core.fsmonitor=false"]);
    command.arg("-C").arg(directory).args(args);
    for name in ELSEWHERE {
        command.env_remove(name);
    }
    ask(&mut command, PATIENCE, cancel)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(directory: &Path, args: &[&str]) {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b", "-C"]);
        let status = command.arg(directory).args(args).output().unwrap().status;
        assert!(status.success(), "git {args:?}");
    }

    #[test]
    fn a_checkout_has_a_revision_and_is_dirty_when_what_is_served_differs() {
        let root = tempfile::tempdir().unwrap();
        let served = root.path().join("served");
        std::fs::create_dir(&served).unwrap();
        assert_eq!(revision(&served, &Cancel::default()), None);
        run(root.path(), &["init", "--quiet"]);
        assert_eq!(revision(&served, &Cancel::default()), None, "nothing is committed");
        std::fs::write(served.join("a.py"), "a = 1\n").unwrap();
        run(root.path(), &["add", "."]);
        run(root.path(), &["commit", "--quiet", "--message", "one"]);
        std::fs::write(root.path().join("beside.py"), "b = 1\n").unwrap();
        let clean = revision(&served, &Cancel::default()).unwrap();
        assert!(clean.commit.len() >= 40 && clean.dirty == Some(false), "{clean:?}");
        std::fs::write(served.join("new.py"), "c = 1\n").unwrap();
        let dirty = revision(&served, &Cancel::default()).unwrap();
        assert_eq!((dirty.commit, dirty.dirty), (clean.commit, Some(true)));
    }

    #[test]
    fn a_directory_that_is_no_part_of_the_repository_around_it_has_no_revision() {
        let root = tempfile::tempdir().unwrap();
        let scratch = root.path().join("scratch/project");
        let beside = root.path().join("beside");
        run(root.path(), &["init", "--quiet"]);
        std::fs::write(root.path().join(".gitignore"), "/scratch\n").unwrap();
        run(root.path(), &["add", "."]);
        run(root.path(), &["commit", "--quiet", "--message", "one"]);
        for project in [&scratch, &beside] {
            std::fs::create_dir_all(project).unwrap();
            std::fs::write(project.join("a.py"), "a = 1\n").unwrap();
            assert_eq!(revision(project, &Cancel::default()), None, "{project:?}");
        }
        assert!(revision(root.path(), &Cancel::default()).is_some());
        run(root.path(), &["add", "--force", "scratch/project/a.py"]);
        run(root.path(), &["commit", "--quiet", "--message", "two"]);
        std::fs::write(scratch.join("b.py"), "b = 1\n").unwrap();
        assert_eq!(
            revision(&scratch, &Cancel::default()),
            None,
            "nobody says that it differs"
        );
        // A nested repository does not count, wherever it is.
        run(&beside, &["init", "--quiet"]);
        run(&beside, &["add", "."]);
        run(&beside, &["commit", "--quiet", "--message", "own"]);
        assert_eq!(
            revision(&beside, &Cancel::default()).and_then(|own| own.dirty),
            Some(false)
        );
    }
}
