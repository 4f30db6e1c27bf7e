//! Every form of a setting, as pasted.

use strum::VariantArray;

use record::{AllocatorFacts, AllocatorFamily};

use super::*;

fn server(name: &str, family: AllocatorFamily, prefix: Option<&str>, variable: &str) -> Server {
    Server {
        name: name.to_owned(),
        program: name.to_owned(),
        args: vec!["server".to_owned()],
        allocator: Some(AllocatorFacts {
            family,
            prefix: prefix.map(str::to_owned),
            variable: if variable.is_empty() {
                None
            } else {
                Some(variable.to_owned())
            },
            ..AllocatorFacts::default()
        }),
        ..Server::default()
    }
}

fn cell(env: &[(&str, &str)]) -> CellFacts {
    CellFacts {
        env: owned(env),
        ..CellFacts::default()
    }
}

fn owned(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
    variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn no_editor_starts_a_command() {
    let command = Server {
        is_command: true,
        ..server("lab", AllocatorFamily::Jemalloc, None, "MALLOC_CONF")
    };
    let set = cell(&[("MALLOC_CONF", "narenas:1")]);
    for form in Form::VARIANTS {
        let refused = text(*form, &command, &set).is_err_and(|why| why.starts_with("an editor starts servers"));
        assert_eq!(refused, *form == Form::Vscode, "{form:?}");
    }
}

/// A setting of all kinds at once.
fn everything() -> CellFacts {
    let mut all = cell(&[("NODE_OPTIONS", "--max-semi-space-size=1 --x='50%'"), ("A", "b\\\"c")]);
    all.args = vec!["--log".to_owned(), "two words".to_owned()];
    all.settings = Some(r#"{"rust-analyzer":{"cachePriming":{"enable":false},"end":[1,null]}}"#.to_owned());
    all.init_options = Some(r#"{"lru":{"capacity":64}}"#.to_owned());
    all.cpus = Some("0-1".to_owned());
    all
}

/// A cell on a server that has these variables with any setting.
fn with_given(cell: CellFacts, given: &[(&str, &str)]) -> CellFacts {
    CellFacts {
        given: owned(given),
        ..cell
    }
}

fn all_forms(server: &Server, cell: &CellFacts) -> String {
    let mut texts = String::new();
    for form in Form::VARIANTS {
        texts.push_str(&match text(*form, server, cell) {
            Ok(text) => format!("--- {}\n{text}", form.name()),
            Err(why) => format!("--- {}: cannot, {why}\n", form.name()),
        });
    }
    texts
}

/// Servers, each with a setting and a peculiarity.
fn cases() -> [(&'static str, Server, CellFacts); 10] {
    let je = AllocatorFamily::Jemalloc;
    let conf = "background_thread:true,dirty_decay_ms:1000";
    let mut baked = server("uv", je, Some("_rjem_"), "_RJEM_MALLOC_CONF");
    baked.allocator.as_mut().unwrap().baked = Some("narenas:2".to_owned());
    [
        (
            "ty",
            server("ty", je, Some("_rjem_"), "_RJEM_MALLOC_CONF"),
            cell(&[("_RJEM_MALLOC_CONF", conf)]),
        ),
        (
            "without a prefix",
            server("mine", je, None, "MALLOC_CONF"),
            cell(&[("MALLOC_CONF", conf)]),
        ),
        (
            "with options built in",
            baked,
            cell(&[("_RJEM_MALLOC_CONF", "dirty_decay_ms:0")]),
        ),
        (
            "rust-analyzer",
            server("rust-analyzer", AllocatorFamily::Glibc, None, ""),
            cell(&[("MALLOC_ARENA_MAX", "2"), ("MALLOC_TRIM_THRESHOLD_", "65536")]),
        ),
        (
            "preloaded",
            server("clangd", je, None, "MALLOC_CONF"),
            with_given(
                cell(&[("MALLOC_CONF", "narenas:1")]),
                &[("LD_PRELOAD", "/usr/lib/libjemalloc.so.2"), ("CLANGD_FLAGS", "-j=2")],
            ),
        ),
        (
            "preloaded under a server that is not known",
            server("mine", AllocatorFamily::Unknown, None, ""),
            cell(&[("LD_PRELOAD", "/usr/lib/libmimalloc.so.2"), ("odd-name", "1")]),
        ),
        (
            "of Node.js",
            server("pyright", AllocatorFamily::V8, None, "NODE_OPTIONS"),
            cell(&[("NODE_OPTIONS", "--max-old-space-size=512")]),
        ),
        (
            "nothing",
            server("ty", je, Some("_rjem_"), "_RJEM_MALLOC_CONF"),
            CellFacts::default(),
        ),
        (
            "everything",
            server("rust-analyzer", AllocatorFamily::Glibc, None, ""),
            everything(),
        ),
        (
            "everything of clangd",
            server("clangd", AllocatorFamily::Glibc, None, ""),
            everything(),
        ),
    ]
}

#[test]
fn settings_are_printed_as_they_are_pasted() {
    let texts = cases().map(|(name, server, cell)| format!("## {name}\n{}\n", all_forms(&server, &cell)));
    let text = texts.join("\n");
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(text) });
}

#[test]
fn settings_become_members_of_vs_code_by_their_paths() {
    let server = server("rust-analyzer", AllocatorFamily::Glibc, None, "");
    let text = text(Form::Vscode, &server, &everything()).unwrap();
    let members: String = text.lines().filter(|line| !line.starts_with("//")).collect();
    let value: Value = serde_json::from_str(&format!("{{{}}}", members.trim_end_matches(','))).unwrap();
    assert_eq!(value["rust-analyzer.cachePriming.enable"], false);
    assert_eq!(value["rust-analyzer.lru.capacity"], 64);
}
