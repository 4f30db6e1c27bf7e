//! Names that are valid file names on every system.

/// Whether a label is a valid file name on every system.
pub fn names_files(label: &str) -> bool {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let reserved = ["con", "prn", "aux", "nul"].contains(&label.to_ascii_lowercase().as_str());
    let begins_well = label.starts_with(|c: char| c.is_ascii_alphanumeric());
    begins_well && label.len() <= 64 && label.chars().all(safe) && !label.ends_with('.') && !reserved
}
