//! Tags and attributes of markup, and the scripts, styles and expressions in it.

use std::ops::Range;

use super::places::{Places, Role};
use super::sites::Sites;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum Dialect {
    /// XML: scripts and styles are not told apart from other text.
    Xml,
    /// HTML and what is close to it.
    Html,
    /// `{{ … }}`, and attributes that hold code.
    Vue,
    /// `{ … }` in text and attributes.
    Svelte,
}

pub(super) fn sites(text: &str, dialect: Dialect) -> Sites {
    let mut places = Places::new(text);
    while !places.rest().is_empty() {
        let rest = places.rest();
        if rest.starts_with("<!--") {
            places.skip_past("-->");
        } else if rest.starts_with("<![CDATA[") {
            places.skip_past("]]>");
        } else if rest.starts_with("<!") || rest.starts_with("<?") || rest.starts_with("</") {
            places.skip_past(">");
        } else if rest.starts_with('<') && rest[1..].starts_with(char::is_alphabetic) {
            tag(&mut places, dialect);
        } else if rest.starts_with("{{") && dialect == Dialect::Vue {
            expression(&mut places, 2, "}}");
        } else if rest.starts_with('{') && dialect == Dialect::Svelte {
            expression(&mut places, 1, "}");
        } else {
            places.skip_one();
            places.take(|c| !matches!(c, '<' | '{'));
        }
    }
    places.found
}

/// An opening tag, and what is in it where that is another language.
fn tag(places: &mut Places<'_>, dialect: Dialect) {
    places.skip_one();
    let name = places.take(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.'));
    let word = &places.text[name.clone()];
    // Other tags are the host's own, which no project defines.
    let component = dialect != Dialect::Html && (word.contains(['-', '.']) || word.starts_with(char::is_uppercase));
    places.add(name.clone(), if component { Role::Use } else { Role::Word });
    loop {
        places.take(char::is_whitespace);
        let rest = places.rest();
        match rest.chars().next() {
            None => return,
            Some('>') => break,
            Some('/') if rest.starts_with("/>") => {
                places.at += 2;
                return;
            }
            Some('{') if dialect == Dialect::Svelte => expression(places, 1, "}"),
            Some('<') => return,
            Some(_) => attribute(places, dialect),
        }
    }
    places.skip_one();
    let inner = match (dialect, word) {
        (Dialect::Xml, _) => return,
        (_, "script") => "typescript",
        (_, "style") => "css",
        _ => return,
    };
    let start = places.at;
    let close = format!("</{word}");
    let end = places
        .rest()
        .find(&close)
        .map_or(places.text.len(), |offset| start + offset);
    places.embed(start..end, inner);
    places.at = end;
}

fn attribute(places: &mut Places<'_>, dialect: Dialect) {
    let name = places.take(|c| !c.is_whitespace() && !matches!(c, '=' | '>' | '/' | '"' | '\'' | '<' | '{'));
    if name.is_empty() {
        return places.skip_one();
    }
    let word = &places.text[name.clone()];
    places.add(name, Role::Word);
    if !places.rest().starts_with('=') {
        return;
    }
    places.skip_one();
    match places.rest().chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let start = places.at + 1;
            places.skip_one();
            places.skip_past(&quote.to_string());
            let closed = places.text[..places.at].ends_with(quote) && places.at > start;
            value(places, word, start..places.at - usize::from(closed), dialect);
        }
        Some('{') if dialect == Dialect::Svelte => expression(places, 1, "}"),
        _ => {
            places.take(|c| !c.is_whitespace() && c != '>');
        }
    }
}

/// The value of an attribute: code, names of classes, or nothing to ask about.
fn value(places: &mut Places<'_>, name: &str, range: Range<usize>, dialect: Dialect) {
    let end = places.at;
    if dialect == Dialect::Vue && (name.starts_with([':', '@', '#']) || name.starts_with("v-")) {
        places.embed(range, "typescript");
    } else if matches!(name, "class" | "className") {
        places.at = range.start;
        while places.at < range.end {
            places.take(char::is_whitespace);
            let rest = &places.text[places.at..range.end.max(places.at)];
            let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let word = places.at..places.at + length;
            places.at = word.end;
            places.add(word, Role::Word);
        }
    }
    places.at = end;
}

/// Code in braces, without the word of a block (`{#if …}`) before it.
fn expression(places: &mut Places<'_>, open: usize, close: &str) {
    places.at += open;
    if places.rest().starts_with(['#', ':', '/', '@']) {
        places.skip_one();
        places.take(char::is_alphanumeric);
    }
    let start = places.at;
    let mut depth = 0;
    let end = places.rest().char_indices().find(|(offset, c)| {
        let ends = depth == 0 && places.rest()[*offset..].starts_with(close);
        match c {
            '{' => depth += 1,
            '}' if !ends => depth -= 1,
            _ => {}
        }
        ends
    });
    let end = end.map_or(places.text.len(), |(offset, _)| start + offset);
    places.embed(start..end, "typescript");
    places.at = (end + close.len()).min(places.text.len());
}
