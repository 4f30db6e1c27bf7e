//! Environment lines for shells and for units of systemd.

use crate::report::text::quoted;

use super::Setting;

/// `NAME=value`, a line each.
pub(super) fn env(setting: &Setting<'_>) -> String {
    let lines = setting
        .env
        .iter()
        .map(|(name, value)| format!("{name}={}", quoted(value)));
    let rest = setting.rest(true).into_iter().map(|line| format!("# {line}"));
    joined(lines.chain(rest))
}

/// A drop-in of a unit.
pub(super) fn systemd(setting: &Setting<'_>) -> String {
    let assigned = |(name, value): (&String, &String)| {
        let text = format!("{name}={value}");
        let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
        format!("Environment=\"{text}\"")
    };
    let mut lines = vec!["[Service]".to_owned()];
    lines.extend(setting.env.iter().map(assigned));
    lines.extend(setting.cpus.map(|cpus| format!("CPUAffinity={cpus}")));
    let without_cpus = Setting {
        cpus: None,
        env: setting.env,
        settings: setting.settings.clone(),
        init_options: setting.init_options.clone(),
        ..*setting
    };
    lines.extend(without_cpus.rest(true).into_iter().map(|line| format!("# {line}")));
    joined(lines.into_iter())
}

/// Lines, each ended.
pub(super) fn joined(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| line + "\n").collect()
}
