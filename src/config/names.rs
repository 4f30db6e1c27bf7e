//! Names that are valid file names on every system.

/// Bytes of the longest name.
const LONGEST: usize = 64;

/// True if a label is a valid file name on every system.
pub fn is_file_name(label: &str) -> bool {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let begins_well = label.starts_with(|c: char| c.is_ascii_alphanumeric());
    begins_well && label.len() <= LONGEST && label.chars().all(safe) && !label.ends_with('.') && !is_device(label)
}

/// True if the name is a device of Windows, as it is with any extension.
fn is_device(label: &str) -> bool {
    let stem = label.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_port = stem
        .strip_prefix("com")
        .or_else(|| stem.strip_prefix("lpt"))
        .is_some_and(|number| number.len() == 1 && number.chars().all(|c| c.is_ascii_digit()));
    is_port || ["con", "prn", "aux", "nul"].contains(&stem.as_str())
}

/// The text as a valid file name, with `-` in place of what one may not contain.
pub fn as_file_name(text: &str) -> String {
    if is_file_name(text) {
        return text.to_owned();
    }
    let mut name = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            name.push(c);
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_start_matches(['.', '-', '_']);
    let name = name[..name.len().min(LONGEST)].trim_end_matches(['.', '-', '_']);
    if is_file_name(name) {
        name.to_owned()
    } else {
        format!("command-{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_becomes_a_file_name_and_a_file_name_stays() {
        for (text, name) in [
            ("ty-0.0.104", "ty-0.0.104"),
            ("sleep 0.2", "sleep-0.2"),
            ("./ls -l '/tmp'", "ls--l-tmp"),
            ("größe", "gr-e"),
            ("con", "command-con"),
            ("aux.1", "command-aux.1"),
            ("lpt1", "command-lpt1"),
            ("compiler", "compiler"),
            ("…", "command-"),
        ] {
            assert_eq!(as_file_name(text), name);
            assert!(is_file_name(&as_file_name(text)));
        }
        assert_eq!(as_file_name(&"ä b".repeat(99)).len(), 63);
    }
}
