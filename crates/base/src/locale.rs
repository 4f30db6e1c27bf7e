//! Tells from a user's environment if the terminal shows more than ASCII.

/// True if signs beyond ASCII may be printed: unless the first of the three variables that is set, as POSIX has it, names a
/// locale without UTF-8, such as `LC_ALL=C`. Where none is set, as in most containers and on Windows, terminals nevertheless
/// speak UTF-8.
pub fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
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
    use super::is_utf8;

    #[test]
    fn the_first_locale_that_is_set_decides() {
        let with = |set: &[(&str, &str)]| {
            is_utf8(|name| {
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
