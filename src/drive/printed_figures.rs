//! Figures that a command prints itself: the numbers of the last line of its output that is a JSON object.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::{Map, Number, Value};

/// Bytes at the end of the output in which the line is sought.
const TAIL: u64 = 1 << 20;

/// Most figures of a run.
const MOST: usize = 100;

/// Most bytes of a name.
const LONGEST: usize = 100;

/// The figures in a file, by name: `a.b` is the member `b` of the member `a`. Empty if no line has any, or if the last one in
/// braces is not JSON: an earlier one would be of something else.
pub fn figures(output: &Path) -> io::Result<BTreeMap<String, Number>> {
    let mut file = File::open(output)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut text = Vec::new();
    file.take(TAIL).read_to_end(&mut text)?;
    let mut lines = text.rsplit(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let object = lines.find(|line| line.starts_with(b"{") && line.ends_with(b"}"));
    let object = object.and_then(|line| serde_json::from_slice::<Map<String, Value>>(line).ok());
    let mut all = BTreeMap::new();
    if let Some(object) = object {
        collect("", &object, &mut all);
    }
    Ok(all)
}

/// True if a name can stand in a table.
fn is_plain(name: &str) -> bool {
    name.len() <= LONGEST && !name.chars().any(char::is_control)
}

fn collect(within: &str, object: &Map<String, Value>, all: &mut BTreeMap<String, Number>) {
    for (name, value) in object {
        let name = format!("{within}{name}");
        match value {
            Value::Number(number) if all.len() < MOST && is_plain(&name) => {
                all.insert(name, number.clone());
            }
            Value::Object(members) => collect(&format!("{name}."), members, all),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures_of(text: &str) -> Vec<(String, String)> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("output");
        std::fs::write(&path, text).unwrap();
        let all = figures(&path).unwrap().into_iter();
        all.map(|(name, number)| (name, number.to_string())).collect()
    }

    fn pair(name: &str, number: &str) -> (String, String) {
        (name.to_owned(), number.to_owned())
    }

    #[test]
    fn the_last_line_that_is_an_object_has_the_figures() {
        let text = "start\n{\"ops\": 1}\n{\"ops\": 2, \"name\": \"x\", \"at\": {\"p95\": 0.5}}\ndone\n[7]\n";
        assert_eq!(figures_of(text), [pair("at.p95", "0.5"), pair("ops", "2")]);
    }

    #[test]
    fn an_output_without_such_a_line_has_none() {
        assert_eq!(figures_of(""), []);
        assert_eq!(figures_of("{\"ops\": 1}\n{\"ops\": NaN}\n"), []);
        assert_eq!(figures_of("12 ops\n{\"name\": \"x\"}\n"), []);
        let endless = format!("{{\"ops\": 1}}\n{}", "x".repeat(2 << 20));
        assert_eq!(figures_of(&endless), []);
    }
}
