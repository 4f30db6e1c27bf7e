//! The forms of a setting to paste.

use strum::{EnumString, IntoStaticStr, VariantArray};

/// Where to paste a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Form {
    Env,
    Rust,
    Cargo,
    Vscode,
}

impl Form {
    /// Where the text belongs, as a heading, and the text's language for Markdown.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Form::Env => ("in a shell", "sh"),
            Form::Rust => ("in a Rust program", "rust"),
            Form::Cargo => ("when it is built", "toml"),
            Form::Vscode => ("settings.json of VS Code", "jsonc"),
        }
    }

    pub fn name(self) -> &'static str {
        self.into()
    }
}
