//! Bisections of servers whose memory is known in every version.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use serde_json::Value;

use crate::fixture::SYSTEM;
use crate::ground::{PreparedWorkspace, ended};

/// The fixture with so much ballast, as a script.
fn script(ballast: &str) -> String {
    format!("#!/bin/sh\nexec {SYSTEM} --ballast {ballast} \"$@\"\n")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("it is JSON")
}

impl PreparedWorkspace {
    /// lsp-soak with a cache of its own. Programs in `bin` come before those of the machine.
    fn bisect(&self, words: &[&str]) -> Output {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(self.join("bin")).chain(std::env::split_paths(&path));
        self.command(&[&["bisect"][..], words].concat())
            .env("PATH", std::env::join_paths(path).expect("they are paths"))
            .env("LSP_SOAK_CACHE_DIR", self.join("cache"))
            .output()
            .expect("lsp-soak starts")
    }

    fn git(&self, words: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b", "-C"]);
        let output = command
            .arg(self.join("repository"))
            .args(words)
            .output()
            .expect("git is here");
        assert!(output.status.success(), "git {words:?}: {output:?}");
        String::from_utf8(output.stdout).expect("it is text")
    }

    /// A repository with a commit for each of these amounts; one without an amount does not build.
    fn with_commits(self, ballasts: &[&str]) -> PreparedWorkspace {
        self.write("repository/README", "");
        self.git(&["init", "--quiet"]);
        for (number, ballast) in ballasts.iter().enumerate() {
            let build = match *ballast {
                "" => "echo it is broken >&2; exit 1".to_owned(),
                ballast => format!("cat > server <<'END'\n{}END\nchmod +x server", script(ballast)),
            };
            self.write("repository/build.sh", &format!("# {number}\n{build}\n"));
            self.git(&["add", "."]);
            self.git(&["commit", "--quiet", "--message", &format!("change {number}")]);
        }
        self
    }

    fn executable(&self, name: &str, text: &str) {
        self.write(name, text);
        fs::set_permissions(self.join(name), fs::Permissions::from_mode(0o755)).expect("the file is ours");
    }

    /// A registry that has these versions of the package `mine`, and a client that cannot install the third.
    fn with_registry(self, listed: &str) -> PreparedWorkspace {
        self.executable(
            "bin/python3",
            &format!("#!/bin/sh\necho 'Available versions: {listed}'\n"),
        );
        let uv = format!(
            "#!/bin/sh\nif [ $1 = venv ]; then mkdir -p $3/bin; exit; fi\n\
             case $6 in *==3) echo no such wheel >&2; exit 1;; *==[12]) ballast=200MiB;; *) ballast=230MiB;; esac\n\
             at=$5/lib/python3.11/site-packages/mine-1.dist-info; mkdir -p $at\n\
             echo 'mine.py,sha256=aa,1' > $at/RECORD\n\
             printf '#!/bin/sh\\nexec {SYSTEM} --ballast %s \"$@\"\\n' $ballast > $5/bin/mine; chmod +x $5/bin/mine\n"
        );
        self.executable("bin/uv", &uv);
        self.write(
            "servers.toml",
            "[server.mine]\npackage = { pypi = 'mine' }\nlanguages = ['python']\n",
        );
        self
    }
}

#[test]
fn a_commit_is_found_beside_one_that_does_not_build_and_a_resumed_search_plays_nothing_again() {
    let ground = PreparedWorkspace::pair().with_commits(&["200MiB", "200MiB", "", "230MiB", "230MiB"]);
    let words = [
        "scenario.toml", "--server", "./server", "--build", "sh build.sh", "--git", "repository", "HEAD~4..HEAD",
        "--by", "3%", "--lens", "as-shipped", "--out", "out",
    ];
    let (_, errors) = ended(0, &words, ground.bisect(&words));
    assert!(errors.contains("`sh build.sh` failed: it is broken"), "{errors}");
    let again = ["--resume", "out", "--format", "json", "-q"];
    let (said, errors) = ended(0, &again, ground.bisect(&again));
    assert!(!errors.contains("begins"), "{errors}");
    let report = json(&said);
    assert_eq!((&report["outcome"], &report["versions"]), (&"step".into(), &5.into()));
    assert_eq!(
        (&report["before"]["title"], &report["after"]["title"]),
        (&"change 1".into(), &"change 3".into())
    );
    assert_eq!(report["between"].as_array().map(Vec::len), Some(1));
    let step = ["low", "high"].map(|bound| report["step"][bound].as_f64().expect("it is a number"));
    assert!(
        step[0] < 1.149 && 1.149 < step[1] && step[1] - step[0] < 0.05,
        "{step:?}"
    );
    // A build writes only into the cache.
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
    assert_eq!(ground.git(&["worktree", "list"]).lines().count(), 1);
    let compared = ground.stdout(&["compare", "out", "--format", "json"]);
    assert!(compared.contains(report["after"]["version"].as_str().expect("it is a hash")));
}

#[test]
fn a_published_version_is_found_from_which_on_a_condition_holds() {
    let ground = PreparedWorkspace::pair().with_registry("6, 5, 4, 3, 2rc1, 2, 1, 0");
    let words = [
        "scenario.toml", "--server", "mine@1..5", "--when", "private > 215MiB", "--lens", "as-shipped", "--out", "out",
        "--format", "json",
    ];
    let (said, errors) = ended(0, &words, ground.bisect(&words));
    assert!(
        errors.contains("3 is skipped: ") && errors.contains("no such wheel"),
        "{errors}"
    );
    let report = json(&said);
    // The version before the release is left out.
    assert_eq!(report["versions"], 5);
    assert_eq!(
        (&report["before"]["version"], &report["after"]["version"]),
        (&"2".into(), &"4".into())
    );
    assert_eq!(report["when"], "private > 215 MiB");
}

#[test]
fn ends_that_are_alike_end_the_search() {
    let ground = PreparedWorkspace::pair().with_commits(&["200MiB", "230MiB", "200MiB"]);
    let words = [
        "scenario.toml", "--server", "./server", "--build", "sh build.sh", "--git", "repository", "HEAD~2..HEAD",
        "--by", "3%", "--lens", "as-shipped", "--out", "out", "-q",
    ];
    let (said, _) = ended(2, &words, ground.bisect(&words));
    assert!(said.contains("the ends do not differ by 3 %"), "{said}");
}
