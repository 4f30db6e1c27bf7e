//! Lines for a shell.

use super::Setting;
use super::escape::{comment, is_name, join_lines, shell};

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
    let instructions = setting.instructions().into_iter().map(|line| comment("#", &line));
    join_lines(lines.chain(odd).chain(instructions))
}
