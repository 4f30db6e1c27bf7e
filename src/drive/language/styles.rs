//! Selectors, properties, values and variables of style sheets.

use super::places::{Places, Role};
use super::sites::Sites;

pub(super) fn sites(text: &str) -> Sites {
    let mut places = Places::new(text);
    while let Some(first) = places.rest().chars().next() {
        let rest = places.rest();
        if rest.starts_with("/*") {
            places.skip_past("*/");
        } else if rest.starts_with("//") && !text[..places.at].ends_with(':') {
            places.take(|c| c != '\n');
        } else if matches!(first, '"' | '\'') {
            places.quoted(first, true);
        } else if first.is_ascii_digit() || first == '#' {
            // A number with its unit, a colour.
            places.skip_one();
            places.take(|c| c.is_alphanumeric() || matches!(c, '.' | '%'));
        } else if is_part(first) || first == '$' {
            let range = places.take(|c| is_part(c) || c == '$');
            let word = &text[range.clone()];
            let variable = word.starts_with('$') || word.starts_with("--");
            let defined = places.rest().trim_start().starts_with(':');
            let role = match (variable, defined) {
                (true, true) => Role::Key,
                (true, false) => Role::Use,
                (false, _) => Role::Word,
            };
            if word.contains(char::is_alphabetic) {
                places.add(range, role);
            }
        } else {
            places.skip_one();
        }
    }
    places.found
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_')
}
