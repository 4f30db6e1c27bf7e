//! The package of a library, from the system's package manager.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use proctree::host;

/// A package manager that takes longer than this waits for something else.
const PATIENCE: Duration = Duration::from_secs(5);

/// Name and version of the package that a file is of: `libjemalloc2 5.3.0-1`.
pub fn package(file: &Path, stop: &dyn Fn() -> bool) -> Option<String> {
    let shown = file.display().to_string();
    let ask = |program: &str, args: &[&str]| {
        let heard = host::listen(Command::new(program).args(args), PATIENCE, stop).ok()?;
        heard.ended.filter(|ended| ended.success()).map(|_| heard.said.stdout)
    };
    kept_by_path(&shown)
        .or_else(|| {
            let owner = debian(&ask("dpkg-query", &["-S", &shown])?)?;
            let version = ask("dpkg-query", &["-W", "-f=${Version}", &owner])?;
            Some(format!("{} {}", owner.split(':').next()?, version.trim()))
        })
        .or_else(|| {
            Some(
                ask("rpm", &["-qf", "--qf", "%{NAME} %{VERSION}-%{RELEASE}", &shown])?
                    .trim()
                    .to_owned(),
            )
        })
        .or_else(|| owned_by(&ask("pacman", &["-Qo", &shown])?))
        .or_else(|| owned_by(&ask("apk", &["info", "--who-owns", &shown])?))
        .filter(|package| !package.is_empty())
}

/// `libjemalloc2:amd64` of `libjemalloc2:amd64: /usr/lib/x86_64-linux-gnu/libjemalloc.so.2`.
fn debian(said: &str) -> Option<String> {
    let (owner, _) = said.lines().next()?.rsplit_once(": ")?;
    Some(owner.to_owned())
}

/// The end of `/usr/lib/libjemalloc.so.2 is owned by jemalloc 1:5.3.0-3`.
fn owned_by(said: &str) -> Option<String> {
    let (_, package) = said.lines().next()?.split_once(" is owned by ")?;
    Some(package.trim().to_owned())
}

/// Homebrew and Nix have the package in the path: `/opt/homebrew/Cellar/jemalloc/5.3.0/lib/…`, `/nix/store/…-jemalloc-5.3.0/lib/…`.
fn kept_by_path(path: &str) -> Option<String> {
    if let Some((_, rest)) = path.split_once("/Cellar/") {
        let mut parts = rest.split('/');
        return Some(format!("{} {}", parts.next()?, parts.next()?));
    }
    let (_, rest) = path.split_once("/nix/store/")?;
    let (_, package) = rest.split('/').next()?.split_once('-')?;
    Some(package.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_read_from_what_managers_say() {
        let said = "libjemalloc2:amd64: /usr/lib/x86_64-linux-gnu/libjemalloc.so.2\n";
        assert_eq!(debian(said).as_deref(), Some("libjemalloc2:amd64"));
        let said = "/usr/lib/libjemalloc.so.2 is owned by jemalloc 1:5.3.0-3\n";
        assert_eq!(owned_by(said).as_deref(), Some("jemalloc 1:5.3.0-3"));
        assert_eq!(owned_by("error: No package owns /x"), None);
        for (path, package) in [
            (
                "/opt/homebrew/Cellar/jemalloc/5.3.0/lib/libjemalloc.2.dylib",
                Some("jemalloc 5.3.0"),
            ),
            (
                "/nix/store/abc123-mimalloc-2.1.7/lib/libmimalloc.so.2",
                Some("mimalloc-2.1.7"),
            ),
            ("/usr/lib/libmimalloc.so.2", None),
        ] {
            assert_eq!(kept_by_path(path).as_deref(), package, "{path}");
        }
    }
}
