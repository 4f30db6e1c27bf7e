//! Finds out from a user's environment if the terminal shows more than ASCII.

/// False if the locale has no UTF-8, such as `LC_ALL=C`: then only ASCII may be printed. As POSIX has it, the first of the
/// three variables that is set counts. Without any, as in most containers and on Windows, terminals show UTF-8.
pub fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
        let locale = variable(name).unwrap_or_default().to_lowercase();
        if !locale.is_empty() {
            return locale.contains("utf-8") || locale.contains("utf8");
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::is_utf8;

    #[test]
    fn the_first_locale_that_is_set_decides() {
        for (env, expected) in [
            (&[("LANG", "de_DE.UTF-8")][..], true),
            (&[("LC_ALL", "C.utf8"), ("LANG", "C")], true),
            (&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")], false),
            (&[("LC_ALL", ""), ("LC_CTYPE", "en_US.ISO-8859-1")], false),
            (&[("LC_ALL", ""), ("LANG", "")], true),
        ] {
            let env: HashMap<&str, &str> = env.iter().copied().collect();
            let is_utf8 = is_utf8(|name| env.get(name).map(|value| String::from(*value)));
            assert_eq!(is_utf8, expected, "{env:?}");
        }
    }
}
