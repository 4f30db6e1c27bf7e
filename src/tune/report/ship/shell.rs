//! Lines for a shell, and units of systemd.

use super::Setting;
use super::escape::{comment, is_name, joined, shell, systemd as quoted};

/// `export NAME=value`, a line each, that a POSIX shell reads.
pub(crate) fn env(setting: &Setting<'_>) -> String {
    let (named, odd) = setting.variables(is_name);
    let lines = named.map(|(name, value)| format!("export {name}={}", shell(value)));
    let odd = odd.map(|(name, value)| {
        let pair = shell(&format!("{name}={value}"));
        comment(
            "#",
            &format!("no shell has a variable of this name: start the server by `env {pair} …`"),
        )
    });
    let rest = setting.rest().into_iter().map(|line| comment("#", &line));
    joined(lines.chain(odd).chain(rest))
}

pub(crate) fn systemd(setting: &Setting<'_>) -> String {
    let (named, odd) = setting.variables(is_name);
    let mut lines = vec!["[Service]".to_owned()];
    lines.extend(named.map(|(name, value)| format!("Environment={}", quoted(&format!("{name}={value}")))));
    lines.extend(setting.cpus.map(|cpus| format!("CPUAffinity={cpus}")));
    lines.extend(odd.map(|(name, _)| comment("#", &format!("systemd sets no variable of the name `{name}`"))));
    let without_cpus = Setting {
        cpus: None,
        ..setting.clone()
    };
    lines.extend(without_cpus.rest().into_iter().map(|line| comment("#", &line)));
    joined(lines.into_iter())
}
