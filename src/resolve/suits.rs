//! Whether servers are for the language of the project that they are to open.

use super::choice::ServerChoice;
use crate::config::Loaded;
use crate::config::Report;

/// Adds a mistake for each server whose profile lists languages without the project's. A server without a list may be
/// for any.
pub fn suits(choices: &[ServerChoice], scenarios: &[Loaded], mistakes: &mut Report) {
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
    let first = own.first().filter(|_| !own.contains(language))?;
    let name = choice.profile_name.as_deref().unwrap_or(&choice.label);
    let title = format!(
        "`{name}` is for {}, and the workspace of `{}` is in {language}",
        either(own),
        loaded.scenario.name,
    );
    let cure = format!(
        "open such a project with --workspace DIR --language {first}, or add languages to [server.{name}] in a \
         servers.toml"
    );
    Some((title, cure))
}

/// `c or cpp`, `a, b or c`.
fn either(names: &[String]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn alternatives_are_listed_as_they_are_read() {
        let either = |names: &[&str]| super::either(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(either(&["c"]), "c");
        assert_eq!(either(&["c", "cpp"]), "c or cpp");
        assert_eq!(either(&["a", "b", "c"]), "a, b or c");
    }
}
