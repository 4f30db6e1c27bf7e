//! Whether the user's terminal is told to show more than ASCII.

/// Whether signs beyond ASCII may be printed: unless the locale is one without UTF-8, such as `LC_ALL=C`.
///
/// Where no locale is set at all, as in most containers and on Windows, terminals nevertheless speak UTF-8.
pub fn is_utf8() -> bool {
    speaks_utf8(|name| std::env::var(name).ok())
}

/// By the first of the three that is set, as POSIX has it.
fn speaks_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| variable(name).filter(|locale| !locale.is_empty()));
    locale.is_none_or(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::speaks_utf8;

    #[test]
    fn the_first_locale_that_is_set_decides() {
        let with = |set: &[(&str, &str)]| {
            speaks_utf8(|name| {
                let variable = set.iter().find(|(known, _)| *known == name);
                variable.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(with(&[("LANG", "de_DE.UTF-8")]));
        assert!(with(&[("LC_ALL", "C.utf8"), ("LANG", "C")]));
        assert!(!with(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]));
        assert!(!with(&[("LC_ALL", ""), ("LC_CTYPE", "en_US.ISO-8859-1")]));
        assert!(with(&[("LC_ALL", ""), ("LANG", "")]));
    }
}
