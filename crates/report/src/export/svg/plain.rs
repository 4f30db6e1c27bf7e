//! Presentation attributes for renderers without CSS variables, which would draw everything black. In a browser the
//! style overrides them.

use crate::document::page::PALETTE;

/// Attributes per class; `--name` stands for a colour of the palette. `currentColor` comes from the server's group.
const LOOKS: [(&str, &str); 21] = [
    ("ground", r#"fill="--ground" stroke="--rule""#),
    ("title", r#"font-size="18" font-weight="600""#),
    ("heading", r#"font-size="14" font-weight="600""#),
    ("tick", r#"fill="--quiet""#),
    ("note", r#"fill="--quiet""#),
    ("end", r#"text-anchor="end""#),
    ("mid", r#"text-anchor="middle""#),
    ("grid", r#"stroke="--rule""#),
    ("axis", r#"stroke="--quiet""#),
    ("phase", r#"fill="--phase""#),
    ("begin", r#"stroke="--rule""#),
    ("silent", r#"fill="--silent""#),
    ("hatch", r#"stroke="--simmer" stroke-width="3""#),
    ("run", r#"fill="none" stroke="currentColor" stroke-opacity=".35""#),
    ("line", r#"fill="none" stroke="currentColor" stroke-width="2.2""#),
    ("swatch", r#"stroke="currentColor" stroke-width="2.5""#),
    ("taken", r#"fill="currentColor" stroke="--ground""#),
    (
        "unsettled",
        r#"fill="--ground" stroke="currentColor" stroke-width="1.5""#,
    ),
    ("peak", r#"fill="currentColor" stroke="--ground""#),
    (
        "value",
        r#"font-weight="600" stroke="--ground" stroke-width="3" paint-order="stroke""#,
    ),
    ("of", r#"fill="currentColor""#),
];

/// Adds the attributes to each element with a class. Text has its quotes escaped, so it cannot look like a class.
pub fn painted(markup: &str) -> String {
    const CLASS: &str = "class=\"";
    let mut parts = markup.split(CLASS);
    let mut painted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (classes, rest) = part.split_once('"').unwrap_or((part, ""));
        painted.push_str(&format!("{CLASS}{classes}\""));
        for class in classes.split(' ') {
            if let Some(attributes) = attributes(class) {
                painted.push_str(&format!(" {attributes}"));
            }
        }
        painted.push_str(rest);
    }
    painted
}

/// The attributes of a class, with the values of its colours.
fn attributes(class: &str) -> Option<String> {
    let look = match LOOKS.iter().find(|(name, _)| *name == class) {
        Some((_, look)) => (*look).to_owned(),
        None if is_server(class) => format!("color=\"--{class}\""),
        None => return None,
    };
    let mut colored = String::new();
    for part in look.split_inclusive('"') {
        match part.strip_suffix('"') {
            Some(name) if name.starts_with("--") => colored.extend([color(name), "\""]),
            _ => colored.push_str(part),
        }
    }
    Some(colored)
}

/// True if the class is a server's: `s0`, `s1` and so on.
fn is_server(class: &str) -> bool {
    class
        .strip_prefix('s')
        .is_some_and(|number| number.parse::<u8>().is_ok())
}

pub const TEXT: (&str, &str) = ("sans-serif", "12");

/// A light colour of the palette, where light comes first.
pub fn color(name: &str) -> &'static str {
    let value = PALETTE.split_once(&format!("{name}: ")).map_or("", |(_, rest)| rest);
    value.split(';').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_its_colours_beside_it_and_texts_stay_as_they_are() {
        assert_eq!(
            painted("<g class=\"s1 d0\"><path class=\"peak\" d=\"M0 0\"></path>class=&quot;ground&quot;</g>"),
            "<g class=\"s1 d0\" color=\"#d55e00\"><path class=\"peak\" fill=\"currentColor\" stroke=\"#ffffff\" d=\"M0 0\"></path>\
             class=&quot;ground&quot;</g>"
        );
        for (class, _) in LOOKS {
            assert!(!attributes(class).unwrap().contains("--"), "{class}");
        }
    }
}
