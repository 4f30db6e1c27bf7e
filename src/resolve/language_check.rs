//! Whether servers are for the language of the project that they are to open.

use super::choice::ServerChoice;
use crate::config::Loaded;
use crate::config::MistakeReport;
use base::text::any_of;

/// Adds a mistake for each server whose profile lists languages without the project's. A server without a list may be
/// for any.
pub fn suits(choices: &[ServerChoice], scenarios: &[Loaded], mistakes: &mut MistakeReport) {
    for loaded in scenarios {
        for choice in choices {
            if let Some((title, cure)) = unsuited(choice, loaded) {
                mistakes.add_loose(title, cure);
            }
        }
    }
}

fn unsuited(choice: &ServerChoice, loaded: &Loaded) -> Option<(String, String)> {
    let own = &choice.profile.languages;
    let language = &loaded.project.language;
    if own.contains(language) {
        return None;
    }
    let first = own.first()?;
    let name = choice.profile_name.as_deref().unwrap_or(&choice.label);
    let title = format!(
        "`{name}` is for {}, and the workspace of `{}` is in {language}",
        any_of(own),
        loaded.scenario.name,
    );
    let cure = format!(
        "open such a project with --workspace DIR --language {first}, or add languages to [server.{name}] in a \
         servers.toml"
    );
    Some((title, cure))
}
