//! Names that are valid file names on every system.

/// Bytes of the longest name.
const LONGEST: usize = 64;

/// True if a label is a valid file name on every system.
pub fn names_files(label: &str) -> bool {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let reserved = ["con", "prn", "aux", "nul"].contains(&label.to_ascii_lowercase().as_str());
    let begins_well = label.starts_with(|c: char| c.is_ascii_alphanumeric());
    begins_well && label.len() <= LONGEST && label.chars().all(safe) && !label.ends_with('.') && !reserved
}

/// The text as a valid file name, with `-` in place of what one may not contain.
pub fn as_file_name(text: &str) -> String {
    if names_files(text) {
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
    if names_files(name) {
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
            ("…", "command-"),
        ] {
            assert_eq!(as_file_name(text), name);
            assert!(names_files(&as_file_name(text)));
        }
        assert_eq!(as_file_name(&"ä b".repeat(99)).len(), 63);
    }
}
