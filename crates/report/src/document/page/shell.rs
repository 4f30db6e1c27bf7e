//! The frame of the page: head, style, script, and the policy that allows only these two.

use data_encoding::BASE64;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use base::text::{clean, clean_lines};

const STYLE: [&str; 3] = [
    include_str!("assets/uplot/uPlot.min.css"),
    PALETTE,
    include_str!("assets/report.css"),
];

/// The colours, which the SVG export shares.
pub const PALETTE: &str = include_str!("assets/palette.css");

const SCRIPT: [&str; 7] = [
    include_str!("assets/uplot/uPlot.iife.min.js"),
    include_str!("assets/numbers.js"),
    include_str!("assets/look.js"),
    include_str!("assets/names.js"),
    include_str!("assets/chart.js"),
    include_str!("assets/table.js"),
    include_str!("assets/page.js"),
];

/// uPlot's licence must accompany every copy.
const LICENCE: &str = include_str!("assets/uplot/LICENSE");

pub fn document(title: &str, body: &Markup) -> String {
    let style = STYLE.join("\n");
    let script = format!("/*\nuPlot: {LICENCE}*/\n{}", SCRIPT.join("\n"));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(&style),
        hash(&script)
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "lsp-soak " (env!("CARGO_PKG_VERSION")) };
                title { (clean(title)) }
                style { (PreEscaped(&style)) }
            }
            body {
                (PreEscaped(clean_lines(&body.0)))
                footer {
                    p {
                        "Made by lsp-soak " (env!("CARGO_PKG_VERSION")) " from the records alone. This file loads nothing, "
                        "from anywhere: its Content-Security-Policy forbids it. Charts by uPlot, MIT licence."
                    }
                }
                script { (PreEscaped(&script)) }
            }
        }
    };
    page.into_string()
}

/// The hash by which the policy allows a style or a script.
fn hash(text: &str) -> String {
    BASE64.encode(&Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_style_nor_script_can_end_its_element() {
        for text in STYLE.into_iter().chain(SCRIPT).chain([LICENCE]) {
            assert!(
                !text.contains("</") || !text.to_lowercase().contains("</s"),
                "an end tag"
            );
            assert!(!text.contains("<!--"), "a comment would hide what follows");
        }
        assert!(!LICENCE.contains("*/"));
    }

    #[test]
    fn what_is_vendored_is_what_the_package_holds() {
        let readme = include_str!("assets/uplot/README.md");
        for (file, text) in [
            ("uPlot.iife.min.js", SCRIPT[0]),
            ("uPlot.min.css", STYLE[0]),
            ("LICENSE", LICENCE),
        ] {
            let hash = data_encoding::HEXLOWER.encode(&Sha256::digest(text.as_bytes()));
            assert!(
                readme.contains(&format!("{hash}  {file}")),
                "{file} is not the one of the package: {hash}"
            );
        }
    }
}
