//! The scenario that plays a recorded session.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use base::text::reason;

use crate::config::glob::{languages, of_language};
use crate::config::names::as_file_name;

use super::{BadRecording, Language, Recorded, read};

/// The text of the scenario that plays the session of this file, which lies beside it. The hash of the file stands in it, so
/// that runs of other sessions are runs of other scenarios.
pub fn text(path: &Path) -> Result<String, BadRecording> {
    let recorded = read(path)?;
    let hash = hash(path)
        .map_err(|error| BadRecording::of_file(format!("cannot be read: {}", reason(&error)), "name another"))?;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = Path::new(&file)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut text = head(&format!("{}-replay", as_file_name(&stem)), &recorded);
    // A string of JSON is one of TOML.
    let file = serde_json::Value::String(file);
    let _ = writeln!(
        text,
        "\n# SHA-256 {hash}\n[[phase]]\nname = \"session\"\nsteps = [{{ start = {{}} }}, {{ session = {{ file = {file} }} }}]"
    );
    Ok(text)
}

/// The scenario up to its first phase.
pub(super) fn head(name: &str, recorded: &Recorded) -> String {
    let mut text = format!("format = 1\nname = \"{name}\"\n");
    // The editor's own requests for diagnostics are in the session.
    if !recorded.pulls_diagnostics() {
        text.push_str("capabilities = \"no-pull\"\n");
    }
    if let Some(language) = recorded.language.as_ref().and_then(known_language) {
        let _ = writeln!(text, "\n[workspace]\nlanguage = \"{language}\"");
    }
    text
}

/// The language of the project; `None` of one without a pattern of files.
fn known_language(language: &Language) -> Option<&'static str> {
    languages().find(|known| match language {
        Language::Id(id) => id == known,
        Language::Extension(extension) => {
            let file = format!("a.{extension}");
            of_language(known).is_some_and(|pattern| pattern.matches(Path::new(&file)))
        }
    })
}

fn hash(path: &Path) -> io::Result<String> {
    let (mut hasher, mut file) = (Sha256::new(), File::open(path)?);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => hasher.update(&buffer[..count]),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
