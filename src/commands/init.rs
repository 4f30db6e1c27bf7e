//! `lsp-soak init`: a commented starter scenario and server file for the project that is found here.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::campaign::files;
use crate::cli;
use crate::config::{Catalogue, Kind, Profile, schema};
use crate::resolve::{Program, installed, which};
use base::text::{nearest, quoted};

use super::print;
use language::{Language, languages};

mod language;
mod text;
mod variant;

const DIRECTORY: &str = "lsp-soak";

struct Server<'c> {
    name: &'c str,
    profile: &'c Profile,
    /// Its path; `None` if it is not installed.
    program: Option<PathBuf>,
}

impl Server<'_> {
    /// True if its profile says that it finds no definitions, so that a starter has next to nothing to ask it.
    fn is_linter(&self) -> bool {
        self.profile.unsupported.contains_key("textDocument/definition")
    }
}

pub fn run(options: &cli::Init) -> anyhow::Result<u8> {
    let project = &options.project;
    if !project.is_dir() {
        bail!(
            "there is no directory `{}`: name the one of your project",
            project.display()
        );
    }
    let catalogue = Catalogue::built_in();
    let (language, others) = choose_language(project, options.language.as_deref(), &catalogue)?;
    let servers = servers(&catalogue, &language.id);
    // `./lsp-soak/soak.toml` is no other file than `lsp-soak/soak.toml`, and longer to type.
    let out = if project == Path::new(".") {
        PathBuf::from(DIRECTORY)
    } else {
        project.join(DIRECTORY)
    };
    let files = [
        (out.join("soak.toml"), text::scenario(&language.id)),
        (out.join("servers.toml"), text::servers(&language.id, &servers)),
        (
            out.join("schemas/scenario.json"),
            schema::text(Kind::Scenario).to_owned(),
        ),
        (out.join("schemas/servers.json"), schema::text(Kind::Servers).to_owned()),
    ];
    if !options.force
        && let Some((existing, _)) = files.iter().find(|(path, _)| path.exists())
    {
        bail!(
            "`{}` is there already, and nothing is overwritten: edit it, or replace it with --force",
            existing.display()
        );
    }
    for (path, text) in &files {
        fs::create_dir_all(path.parent().unwrap_or(&out))
            .with_context(|| format!("cannot write `{}`, make its directory writable", path.display()))?;
        files::write(path, text, "make room, and call `lsp-soak init --force`")?;
    }
    print(&closing_text(&language, &others, &servers, &files[0].0, &files[1].0))?;
    Ok(0)
}

/// The language that was asked for, or the one that most of the project is in; and the others that a server is known for.
fn choose_language(
    project: &Path,
    asked: Option<&str>,
    catalogue: &Catalogue,
) -> anyhow::Result<(Language, Vec<Language>)> {
    let known: Vec<&str> = crate::config::glob::languages().collect();
    let mut languages = languages(project, &known)?;
    if let Some(asked) = asked {
        if !known.contains(&asked) {
            let cure = match nearest(asked, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}", known.join(", ")),
            };
            bail!("the language `{asked}` is not known: {cure}");
        }
        let own = languages.iter().position(|language| language.id == asked);
        let own = own.with_context(|| {
            format!(
                "`{}` has no file of the language `{asked}`: name another one, or another directory",
                project.display()
            )
        })?;
        // An explicit choice needs no hint to the other languages.
        return Ok((languages.swap_remove(own), Vec::new()));
    }
    // A language without a server is offered only on request.
    languages.retain(|language| has_server(catalogue, &language.id));
    if languages.is_empty() {
        let served: Vec<&str> = known.iter().copied().filter(|id| has_server(catalogue, id)).collect();
        bail!(
            "`{}` has no file of a language that a known server is for: name the directory of your project, or its \
             language with --language; there are {}",
            project.display(),
            served.join(", ")
        );
    }
    let first = languages.remove(0);
    Ok((first, languages))
}

fn has_server(catalogue: &Catalogue, language: &str) -> bool {
    catalogue
        .iter()
        .any(|(_, profile)| profile.languages.iter().any(|own| own == language))
}

/// The servers for a language. Linters come last; within each group installed servers come first.
fn servers<'c>(catalogue: &'c Catalogue, language: &str) -> Vec<Server<'c>> {
    let which = which(None);
    let of_language = catalogue
        .iter()
        .filter(|(_, profile)| profile.languages.iter().any(|own| own == language));
    let mut servers: Vec<Server<'c>> = of_language
        .map(|(name, profile)| Server {
            name,
            profile,
            program: match installed(name, profile, &which) {
                Some(Program::File(path)) => Some(path),
                Some(Program::Build(_)) | None => None,
            },
        })
        .collect();
    servers.sort_by_key(|server| (server.is_linter(), server.program.is_none()));
    servers
}

/// The closing text: the detected language and servers, the files that were written, and the next command.
fn closing_text(
    language: &Language,
    others: &[Language],
    servers: &[Server<'_>],
    scenario: &Path,
    own: &Path,
) -> String {
    let (linters, servers): (Vec<&Server<'_>>, Vec<&Server<'_>>) =
        servers.iter().partition(|server| server.is_linter());
    let installed: Vec<&str> = servers
        .iter()
        .filter(|server| server.program.is_some())
        .map(|server| server.name)
        .collect();
    let detected = match (installed.as_slice(), servers.as_slice()) {
        ([], []) => format!(
            "no known server supports it: name yours in {}, or by its path",
            own.display()
        ),
        ([], servers) => {
            let names: Vec<String> = servers
                .iter()
                .map(|server| match server.profile.installed_with() {
                    Some(command) => format!("\n  {}: {command}", server.name),
                    None => format!("\n  {}", server.name),
                })
                .collect();
            format!(
                "no server for it is installed: install one, or name yours by its path{}",
                names.concat()
            )
        }
        (installed, _) => format!("installed servers: {}", installed.join(", ")),
    };
    let server = installed
        .first()
        .or(servers.first().map(|server| &server.name))
        .copied();
    let path = quoted(&scenario.display().to_string());
    let others: String = others
        .iter()
        .map(|other| format!("also: {other} (--language {})\n", other.id))
        .collect();
    let linters: String = linters
        .iter()
        .filter(|server| server.program.is_some())
        .map(|server| {
            let name = server.name;
            format!("\nalso installed: {name}, a linter: play scenarios/diagnostics.toml of lsp-soak on it")
        })
        .collect();
    format!(
        "wrote {}\n      {}\n\n{language}\n{others}{detected}{linters}\n\nnext:\n  lsp-soak check {path}\n  lsp-soak run \
         {path} --server {}\n",
        scenario.display(),
        own.display(),
        server.unwrap_or("./my-server"),
    )
}
