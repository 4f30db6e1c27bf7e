//! The package of a library, from the system's package manager.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use base::Cancel;
use proctree::host;

/// A package manager that takes longer than this waits for something else.
const PATIENCE: Duration = Duration::from_secs(5);

/// Name and version of the package that owns a file: `libjemalloc2 5.3.0-1`.
pub fn package(file: &Path, cancel: &Cancel) -> Option<String> {
    let path = file.display().to_string();
    package_in_path(&path)
        .or_else(|| dpkg_package(&path, cancel))
        .or_else(|| rpm_package(&path, cancel))
        .or_else(|| package_in_line(&output("pacman", &["-Qo", &path], cancel)?))
        .or_else(|| package_in_line(&output("apk", &["info", "--who-owns", &path], cancel)?))
        .filter(|package| !package.is_empty())
}

/// The stdout of a package manager; `None` if it is not there or fails.
fn output(program: &str, args: &[&str], cancel: &Cancel) -> Option<String> {
    let heard = host::run_program(Command::new(program).args(args), PATIENCE, cancel).ok()?;
    if !heard.exit_status?.success() {
        return None;
    }
    Some(heard.said.stdout)
}

fn dpkg_package(path: &str, cancel: &Cancel) -> Option<String> {
    let owner = dpkg_owner(&output("dpkg-query", &["-S", path], cancel)?)?;
    let version = output("dpkg-query", &["-W", "-f=${Version}", &owner], cancel)?;
    Some(format!("{} {}", owner.split(':').next()?, version.trim()))
}

fn rpm_package(path: &str, cancel: &Cancel) -> Option<String> {
    let format = "%{NAME} %{VERSION}-%{RELEASE}";
    let package = output("rpm", &["-qf", "--qf", format, path], cancel)?;
    Some(package.trim().to_owned())
}

/// `libjemalloc2:amd64` of `libjemalloc2:amd64: /usr/lib/x86_64-linux-gnu/libjemalloc.so.2`.
fn dpkg_owner(output: &str) -> Option<String> {
    let (owner, _) = output.lines().next()?.rsplit_once(": ")?;
    Some(owner.to_owned())
}

/// The end of `/usr/lib/libjemalloc.so.2 is owned by jemalloc 1:5.3.0-3`.
fn package_in_line(output: &str) -> Option<String> {
    let (_, package) = output.lines().next()?.split_once(" is owned by ")?;
    Some(package.trim().to_owned())
}

/// Homebrew and Nix have the package in the path: `/opt/homebrew/Cellar/jemalloc/5.3.0/lib/…`, `/nix/store/…-jemalloc-5.3.0/lib/…`.
fn package_in_path(path: &str) -> Option<String> {
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
        let dpkg = "libjemalloc2:amd64: /usr/lib/x86_64-linux-gnu/libjemalloc.so.2\n";
        assert_eq!(dpkg_owner(dpkg).as_deref(), Some("libjemalloc2:amd64"));
        let pacman = "/usr/lib/libjemalloc.so.2 is owned by jemalloc 1:5.3.0-3\n";
        assert_eq!(package_in_line(pacman).as_deref(), Some("jemalloc 1:5.3.0-3"));
        assert_eq!(package_in_line("error: No package owns /x"), None);
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
            assert_eq!(package_in_path(path).as_deref(), package, "{path}");
        }
    }
}
