//! Every form of a setting, as it is pasted.

use super::*;
use crate::analyse::compare;
use crate::analyse::tune::Tuned;
use crate::record::CellFacts;

fn server(name: &str, family: AllocatorFamily, prefix: Option<&str>, variable: &str) -> Server {
    Server {
        name: name.to_owned(),
        program: name.to_owned(),
        args: vec!["server".to_owned()],
        allocator: Some(AllocatorFacts {
            family,
            prefix: prefix.map(str::to_owned),
            variable: Some(variable.to_owned()).filter(|variable| !variable.is_empty()),
            ..AllocatorFacts::default()
        }),
        ..Server::default()
    }
}

fn cell(env: &[(&str, &str)]) -> Swept {
    let env = env
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Swept {
        label: "cell".to_owned(),
        sets: CellFacts {
            env: env.collect(),
            ..CellFacts::default()
        },
        runs: Vec::new(),
        left: Vec::new(),
        figures: Tuned::ALL.map(|_| compare::Cell::default()).to_vec(),
        stopped: None,
        front: false,
        beaten_by: None,
        work: Vec::new(),
        unseen: Vec::new(),
        promise: None,
    }
}

/// A setting of all kinds at once.
fn everything() -> Swept {
    let mut all = cell(&[("NODE_OPTIONS", "--max-semi-space-size=1 --x='50%'"), ("A", "b\\\"c")]);
    all.sets.args = vec!["--log".to_owned(), "two words".to_owned()];
    all.sets.settings = Some(r#"{"rust-analyzer":{"cachePriming":{"enable":false},"end":[1,null]}}"#.to_owned());
    all.sets.init_options = Some(r#"{"lru":{"capacity":64}}"#.to_owned());
    all.sets.cpus = Some("0-1".to_owned());
    all
}

fn forms(server: &Server, cell: &Swept) -> String {
    let one = |form: Form| match text(form, server, cell) {
        Ok(text) => format!("--- {}\n{text}", form.name()),
        Err(why) => format!("--- {}: cannot, {why}\n", form.name()),
    };
    ALL.into_iter().map(one).collect()
}

#[test]
fn settings_are_printed_as_they_are_pasted() {
    let je = AllocatorFamily::Jemalloc;
    let conf = "background_thread:true,dirty_decay_ms:1000";
    let mut baked = server("uv", je, Some("_rjem_"), "_RJEM_MALLOC_CONF");
    baked.allocator.as_mut().unwrap().baked = Some("narenas:2".to_owned());
    let cases = [
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
            "everything",
            server("rust-analyzer", AllocatorFamily::Glibc, None, ""),
            everything(),
        ),
        (
            "everything of clangd",
            server("clangd", AllocatorFamily::Glibc, None, ""),
            everything(),
        ),
    ];
    let told = cases
        .iter()
        .map(|(name, server, cell)| format!("## {name}\n{}\n", forms(server, cell)));
    let told = told.collect::<Vec<String>>().join("\n");
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(told) });
}

#[test]
fn members_of_vs_code_are_json() {
    let text = text(
        Form::Vscode,
        &server("rust-analyzer", AllocatorFamily::Glibc, None, ""),
        &everything(),
    )
    .unwrap();
    let members: String = text.lines().filter(|line| !line.starts_with("//")).collect();
    let value: Value = serde_json::from_str(&format!("{{{}}}", members.trim_end_matches(','))).unwrap();
    assert_eq!(value["rust-analyzer.server.extraEnv"]["A"], "b\\\"c");
    assert_eq!(value["rust-analyzer.cachePriming.enable"], false);
    assert_eq!(value["rust-analyzer.lru.capacity"], 64);
}

#[test]
fn the_build_s_configuration_is_toml() {
    let server = server("ty", AllocatorFamily::Jemalloc, Some("_rjem_"), "_RJEM_MALLOC_CONF");
    let text = text(
        Form::Cargo,
        &server,
        &cell(&[("_RJEM_MALLOC_CONF", "dirty_decay_ms:0")]),
    )
    .unwrap();
    let value: toml::Table = toml::from_str(&text).unwrap();
    assert_eq!(
        value["env"]["JEMALLOC_SYS_WITH_MALLOC_CONF"].as_str(),
        Some("dirty_decay_ms:0")
    );
}
