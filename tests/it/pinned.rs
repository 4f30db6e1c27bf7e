//! Pinned workspaces, from repositories and archives of this machine.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

mod records;
mod servers;

/// A directory with a cache of its own.
struct Place(TempDir);

/// Output of a command.
struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().expect("there is a place for temporary files"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().expect("it is there")
    }

    /// lsp-soak in this place. Programs in its directory `bin` come before those of the machine.
    fn command(&self, words: &[&str]) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(self.path().join("bin")).chain(std::env::split_paths(&path));
        let mut command = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
        command
            .args(words)
            .current_dir(self.path())
            .env("PATH", std::env::join_paths(path).expect("they are paths"))
            .env("LSP_SOAK_CACHE_DIR", self.path().join("cache"))
            .env("TMPDIR", self.path());
        command
    }

    fn soak(&self, words: &[&str]) -> Said {
        self.run(&mut self.command(words))
    }

    fn run(&self, command: &mut Command) -> Said {
        let output = command.output().expect("lsp-soak runs");
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("it is text"));
        Said {
            code: output.status.code(),
            stdout,
            stderr,
        }
    }

    /// Checks a scenario with this `[workspace]`.
    fn check(&self, workspace: &str) -> Said {
        self.scenario(workspace);
        self.soak(&["check", "a.toml"])
    }

    fn scenario(&self, workspace: &str) {
        let text = format!(
            "format = 1\nname = \"a\"\n[workspace]\nlanguage = \"python\"\n{workspace}\n[[phase]]\nname = \"start\"\n\
             steps = [{{ start = {{}} }}, {{ open = {{}} }}]\n"
        );
        self.write("a.toml", text.as_bytes());
    }

    /// A client of an ecosystem that does what this script says.
    fn client(&self, name: &str, script: &str) {
        let bin = self.path().join("bin");
        fs::create_dir_all(&bin).expect("the directory is ours");
        let program = bin.join(name);
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("the directory is ours");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    fn write(&self, name: &str, bytes: &[u8]) -> String {
        fs::write(self.path().join(name), bytes).expect("the directory is ours");
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// A repository with one file; returns its URL and its commit.
    fn repository(&self) -> (String, String) {
        let at = self.path().join("repository");
        fs::create_dir(&at).expect("the directory is ours");
        fs::write(at.join("a.py"), "a = 1\n").expect("the directory is ours");
        git(&at, &["init", "--quiet", "--initial-branch", "main"]);
        git(&at, &["add", "a.py"]);
        git(&at, &["commit", "--quiet", "--message", "a"]);
        (format!("file://{}", at.display()), git(&at, &["rev-parse", "HEAD"]))
    }

    /// Names of the entries in the cache.
    fn cached(&self) -> Vec<String> {
        let at = self.path().join("cache/workspace");
        let names = fs::read_dir(at).into_iter().flatten().flatten();
        let entries = names.flat_map(|name| fs::read_dir(name.path()).into_iter().flatten().flatten());
        let directories = entries.filter(|entry| entry.path().is_dir());
        directories
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    }
}

/// Runs git in a repository. Returns its output without the end of the line.
#[track_caller]
fn git(repository: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(words)
        .output()
        .expect("git is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text").trim().to_owned()
}

/// A `.tar.gz` of these files; the names are written as they are. A text `-> TARGET` makes a link.
fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, text) in files {
        let (text, target) = text
            .strip_prefix("-> ")
            .map_or((*text, None), |target| ("", Some(target)));
        let mut head = [0_u8; 512];
        for (at, field) in [
            (0, *name),
            (100, "0000644\0"),
            (124, &format!("{:011o}\0", text.len())),
            (136, "00000000000\0"),
            (148, "        "),
            (156, if target.is_some() { "2" } else { "0" }),
            (157, target.unwrap_or_default()),
            (257, "ustar\x0000"),
        ] {
            head[at..at + field.len()].copy_from_slice(field.as_bytes());
        }
        let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
        head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar.extend(head);
        tar.extend(text.as_bytes());
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.extend([0; 1024]);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&tar).expect("memory takes everything");
    packed.finish().expect("memory takes everything")
}

#[test]
fn a_commit_is_fetched_once_and_set_up_once() {
    let place = Place::new();
    let (url, commit) = place.repository();
    let counted = place.path().join("counted");
    let workspace = format!(
        "git = \"{url}\"\nrev = \"{commit}\"\nsetup = \"echo x >> {}; cp a.py b.py; test -d .git\"",
        counted.display()
    );
    let first = place.check(&workspace);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let setting = format!("setting up git:{url}#{commit}: echo x >> ");
    assert!(first.stderr.contains(&setting), "{}", first.stderr);
    assert!(
        first.stdout.contains(&format!("git:{url}#{commit}")),
        "{}",
        first.stdout
    );
    assert!(first.stdout.contains("2 × python"), "{}", first.stdout);
    let second = place.check(&workspace);
    assert_eq!((second.code, second.stderr.as_str()), (Some(0), ""));
    assert_eq!(fs::read_to_string(counted).expect("the setup wrote it"), "x\n");
    // The beginning of a hash is the same commit, and another entry.
    let short = place.check(&format!("path = \"git:{url}#{}\"", &commit[..8]));
    assert_eq!(short.code, Some(0), "{}", short.stderr);
    assert!(short.stdout.contains("1 × python"), "{}", short.stdout);
    assert_eq!(place.cached().len(), 2);
}

#[test]
fn a_commit_that_is_not_there_and_a_branch_are_refused_at_their_place() {
    let place = Place::new();
    let (url, _) = place.repository();
    let none = place.check(&format!("git = \"{url}\"\nrev = \"0123456789\""));
    assert_eq!(none.code, Some(2));
    for part in ["has no commit `0123456789`", "a.toml:6:7", "a branch or a tag contains"] {
        assert!(none.stderr.contains(part), "{part}: {}", none.stderr);
    }
    let branch = place.check(&format!("git = \"{url}\"\nrev = \"main\""));
    assert_eq!(branch.code, Some(2));
    for part in ["`main` is no hash of a commit", "a.toml:6:7", "git ls-remote"] {
        assert!(branch.stderr.contains(part), "{part}: {}", branch.stderr);
    }
    assert!(!branch.stderr.contains("fetching"), "{}", branch.stderr);
    assert_eq!(place.cached(), [] as [String; 0]);
}

#[test]
fn nothing_is_fetched_where_there_is_any_mistake() {
    let place = Place::new();
    let (url, commit) = place.repository();
    let said = place.check(&format!("git = \"{url}\"\nrev = \"{commit}\"\nexclud = []"));
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.contains("exclud") && !said.stderr.contains("fetching"),
        "{}",
        said.stderr
    );
    assert!(!place.path().join("cache").exists());
}

#[test]
fn a_setup_that_fails_is_quoted_and_leaves_nothing() {
    let place = Place::new();
    let sum = place.write("a.tgz", &archive(&[("shop/a.py", "a = 1\n")]));
    let workspace =
        format!("archive = \"a.tgz\"\nsha256 = \"{sum}\"\nsetup = \"seq 100000; echo no such compiler >&2; exit 3\"");
    let said = place.check(&workspace);
    assert_eq!(said.code, Some(2));
    for part in [
        "the setup `seq 100000;",
        "99999\n       100000\n       no such compiler\n",
        "a.toml:7:9",
    ] {
        assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
    }
    assert_eq!(place.cached(), [] as [String; 0]);
    let mended = place.check(&workspace.replace("exit 3", "exit 0"));
    assert_eq!(mended.code, Some(0), "{}", mended.stderr);
}

#[test]
fn an_archive_is_checked_before_it_is_unpacked() {
    let place = Place::new();
    let sum = place.write(
        "a.tar.gz",
        &archive(&[("shop/a.py", "a = 1\n"), ("shop/b.py", "b = 1\n")]),
    );
    let url = format!("file://{}", place.path().join("a.tar.gz").display());
    let good = place.check(&format!("archive = \"{url}\"\nsha256 = \"{sum}\""));
    assert_eq!(good.code, Some(0), "{}", good.stderr);
    assert!(good.stdout.contains("2 × python"), "{}", good.stdout);
    let wrong = "0".repeat(64);
    let said = place.check(&format!("archive = \"{url}\"\nsha256 = \"{wrong}\""));
    assert_eq!(said.code, Some(2));
    let title = format!("has the SHA-256 `{sum}`, not `{wrong}`");
    assert!(
        said.stderr.contains(&title) && said.stderr.contains("a.toml:6:10"),
        "{}",
        said.stderr
    );
    let unpinned = place.check("archive = \"a.tar.gz\"");
    assert_eq!(unpinned.code, Some(2));
    let cure = format!("the file has `sha256={sum}`");
    assert!(unpinned.stderr.contains(&cure), "{}", unpinned.stderr);
    assert_eq!(place.cached().len(), 1);
}

#[test]
fn an_archive_that_leads_out_of_its_directory_is_refused() {
    for name in ["../escaped.py", "shop/../../escaped.py", "/tmp/lsp-soak-escaped.py"] {
        let place = Place::new();
        let sum = place.write("a.tgz", &archive(&[("shop/a.py", "a = 1\n"), (name, "b = 1\n")]));
        let said = place.check(&format!("archive = \"a.tgz\"\nsha256 = \"{sum}\""));
        assert_eq!(said.code, Some(2));
        let title = format!("has the entry `{name}`, which leads out of the archive");
        assert!(said.stderr.contains(&title), "{}", said.stderr);
        assert_eq!(place.cached(), [] as [String; 0]);
        assert!(!Path::new("/tmp/lsp-soak-escaped.py").exists());
    }
}

#[test]
fn a_link_that_leads_out_of_its_archive_is_refused() {
    for (name, target) in [("etc", "/etc"), ("shop/h.py", "/etc/hostname"), ("shop/up", "../../up")] {
        let place = Place::new();
        let link = format!("-> {target}");
        let sum = place.write("a.tgz", &archive(&[("shop/a.py", "a = 1\n"), (name, &link)]));
        let said = place.check(&format!("archive = \"a.tgz\"\nsha256 = \"{sum}\""));
        assert_eq!(said.code, Some(2));
        let title = format!("to `{target}`, which leads out of the archive");
        assert!(said.stderr.contains(&title), "{}", said.stderr);
        assert_eq!(place.cached(), [] as [String; 0]);
    }
    let place = Place::new();
    let sum = place.write(
        "a.tgz",
        &archive(&[("shop/a.py", "a = 1\n"), ("shop/b.py", "-> ./a.py")]),
    );
    let said = place.check(&format!("archive = \"a.tgz\"\nsha256 = \"{sum}\""));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

#[test]
fn the_setup_of_a_hook_knows_only_its_own_repository() {
    let place = Place::new();
    let (url, commit) = place.repository();
    place.scenario(&format!(
        "git = \"{url}\"\nrev = \"{commit}\"\nsetup = \"git rev-parse --absolute-git-dir > ../../../../where\""
    ));
    let other = place.path().join("repository/.git");
    let said = place.run(
        place
            .command(&["check", "a.toml"])
            .env("GIT_DIR", &other)
            .env("GIT_INDEX_FILE", other.join("index"))
            .env("GIT_WORK_TREE", place.path().join("repository")),
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let text = fs::read_to_string(place.path().join("cache/where")).expect("the setup wrote it");
    assert!(text.ends_with("/files/.git\n"), "{text}");
}

#[test]
fn python_without_pip_is_named_with_its_cure() {
    let place = Place::new();
    place.client("python3", "echo '/usr/bin/python3: No module named pip' >&2; exit 1");
    place.repository();
    place.scenario("path = \"repository\"");
    let range = place.soak(&["check", "a.toml", "--server", "ty@0.0.1..0.0.3"]);
    let workspace = place.check("pypi = \"shop==1\"");
    for said in [range, workspace] {
        assert_eq!(said.code, Some(2));
        let cure = "`python3 -m pip` is not installed: install pip for this Python";
        assert!(said.stderr.contains(cure), "{}", said.stderr);
        for wrong in ["correct the origin", "source distribution"] {
            assert!(!said.stderr.contains(wrong), "{}", said.stderr);
        }
    }
}

#[test]
fn the_wheel_is_used_only_where_there_is_no_source_distribution() {
    for (failure, falls_back) in [
        ("ERROR: No matching distribution found for shop==1", true),
        (
            "WARNING: Retrying (Retry(total=0))\nERROR: No matching distribution found for shop==1",
            false,
        ),
        ("ERROR: Could not install packages: HTTP error 403", false),
        ("error: metadata-generation-failed", false),
    ] {
        let place = Place::new();
        place.write("wheel.tgz", &archive(&[("shop/a.py", "a = 1\n")]));
        place.client(
            "python3",
            &format!(
                "case \"$*\" in *--no-binary*) echo '{failure}' >&2; exit 1 ;; esac\n\
                 while [ \"$1\" != --dest ]; do shift; done; cp {} \"$2\"",
                place.path().join("wheel.tgz").display()
            ),
        );
        let said = place.check("pypi = \"shop==1\"");
        assert_eq!(said.code, Some(if falls_back { 0 } else { 2 }), "{}", said.stderr);
        let note = "shop==1 has no source distribution: using the files of its wheel";
        assert_eq!(said.stderr.contains(note), falls_back, "{}", said.stderr);
    }
}

#[test]
fn a_setup_that_was_killed_is_listed_and_cleared() {
    let place = Place::new();
    let (url, commit) = place.repository();
    let git = format!("git:{url}#{commit}");
    place.scenario(&format!(
        "path = \"{git}\"\nsetup = \"echo x > ../../../../begun; sleep 60\""
    ));
    let mut check = place.command(&["check", "a.toml"]).spawn().expect("lsp-soak runs");
    while !place.path().join("cache/begun").exists() {
        assert!(check.try_wait().expect("it is ours").is_none(), "it did not set up");
        std::thread::sleep(Duration::from_millis(5));
    }
    let busy = place.soak(&["cache", "clear", &git]);
    assert!(busy.stdout.starts_with("kept "), "{}{}", busy.stdout, busy.stderr);
    assert_eq!(busy.code, Some(2));
    check.kill().expect("it is ours");
    check.wait().expect("it is ours");
    let list = place.soak(&["cache"]).stdout;
    assert!(list.contains("workspace, incomplete"), "{list}");
    let cleared = place.soak(&["cache", "clear", &git]);
    assert!(
        cleared.stdout.starts_with("removed "),
        "{}{}",
        cleared.stdout,
        cleared.stderr
    );
    assert_eq!(place.cached(), [] as [String; 0]);
}

/// strace lets the removal of a second file fail, as a crash would.
#[cfg(target_os = "linux")]
#[test]
fn an_entry_of_which_a_part_was_removed_is_fetched_again() {
    let place = Place::new();
    let sum = place.write("a.tgz", &archive(&[("a.py", "a = 1\n"), ("b.py", "b = 1\n")]));
    let workspace = format!("archive = \"a.tgz\"\nsha256 = \"{sum}\"");
    assert_eq!(place.check(&workspace).code, Some(0));
    let clear = place.command(&["cache", "clear"]);
    let mut failing = Command::new("strace");
    failing.args([
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "trace=unlinkat",
        "-e",
        "inject=unlinkat:error=EIO:when=2+",
    ]);
    failing.arg(clear.get_program()).args(clear.get_args());
    failing.envs(clear.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let failed = place.run(&mut failing);
    assert!(
        failed.stderr.contains("cannot remove"),
        "{}{}",
        failed.stdout,
        failed.stderr
    );
    let list = place.soak(&["cache"]).stdout;
    assert!(list.contains("incomplete"), "{list}");
    let again = place.check(&workspace);
    assert!(again.stdout.contains("2 × python"), "{}{}", again.stdout, again.stderr);
}

#[test]
fn the_cache_lists_workspaces_and_clears_them_by_their_origin() {
    let place = Place::new();
    let (url, commit) = place.repository();
    let sum = place.write("a.tgz", &archive(&[("a.py", "a = 1\n"), ("b.py", "b = 1\n")]));
    let archive = format!("archive:{}#sha256={sum}", place.path().join("a.tgz").display());
    let git = format!("git:{url}#{commit}");
    for workspace in [&archive, &git] {
        let said = place.check(&format!("path = \"{workspace}\"\nsetup = \"true\""));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    let list = place.soak(&["cache"]).stdout;
    assert!(
        has_row(&list, "git:", &commit) && has_row(&list, "archive:", &sum) && list.contains(" ago"),
        "{list}"
    );
    let cleared = place.soak(&["cache", "clear", &git]);
    assert!(
        cleared.stdout.starts_with(&format!("removed {git}, ")),
        "{}{}",
        cleared.stdout,
        cleared.stderr
    );
    let list = place.soak(&["cache"]).stdout;
    assert!(!list.contains("git:") && list.contains("archive:"), "{list}");
    let unknown = place.soak(&["cache", "clear", &git]);
    assert!(unknown.stderr.contains("the cache has no"), "{}", unknown.stderr);
    assert_eq!(place.soak(&["cache", "clear"]).code, Some(0));
    assert_eq!(place.cached(), [] as [String; 0]);
}

fn has_row(list: &str, kind: &str, hash: &str) -> bool {
    let mut rows = list
        .lines()
        .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "));
    rows.any(|row| row.starts_with(kind) && row.contains(&format!("#{} workspace, true", &hash[..12])))
}

#[test]
fn two_commands_at_once_fetch_a_workspace_once() {
    let place = Place::new();
    let (url, commit) = place.repository();
    let counted = place.path().join("counted");
    let setup = format!("sleep 0.2; echo x >> {}", counted.display());
    fs::write(
        place.path().join("a.toml"),
        "format = 1\nname = \"a\"\n[workspace]\nlanguage = \"python\"\n[[phase]]\nname = \"start\"\nsteps = [{ start = {} }]\n",
    )
    .expect("the directory is ours");
    let origin = format!("git:{url}#{commit}");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let said = place.soak(&["check", "a.toml", "--workspace", &origin, "--setup", &setup]);
                assert_eq!(said.code, Some(0), "{}", said.stderr);
            });
        }
    });
    assert_eq!(fs::read_to_string(counted).expect("the setup wrote it"), "x\n");
}
