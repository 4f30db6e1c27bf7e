//! Grids as they are read, and every mistake in one.

use std::path::PathBuf;

use crate::config::Profile;
use crate::config::tune::*;
use crate::resolve::{Program, ServerChoice};
use record::{AllocatorFacts, AllocatorFamily, Confidence, SweepFacts};

use super::*;

/// Compares with the checked-in text; the expression would only repeat it.
macro_rules! shown {
    ($text:expr $(,)?) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($text) })
    };
}

const GRID: &str = r#"
format = 1

[[axis]]
name = "decay"
values = [
    { label = "as-it-is" },
    { env = { _RJEM_MALLOC_CONF = "dirty_decay_ms:0" } },
    { label = "thread", env = { _RJEM_MALLOC_CONF = "background_thread:true" } },
]

[[axis]]
name = "arenas"
values = [
    { label = "all" },
    { env = { _RJEM_MALLOC_CONF = "narenas:1" }, cpus = "0-1" },
]

[[cell]]
args = ["--pch-storage=memory"]

[[cell]]
init-options = { lru = { capacity = 64 } }

[[cell]]
preload = "mimalloc"

[[exclude]]
decay = "thread"
arenas = "narenas-1.cpus-0-1"
"#;

fn server(facts: AllocatorFacts) -> ServerChoice {
    let program = Program::File(PathBuf::from("server"));
    ServerChoice {
        args: vec!["--stdio".to_owned()],
        env: [("_RJEM_MALLOC_CONF".to_owned(), "tcache:true".to_owned())].into(),
        found: Some(facts),
        ..ServerChoice::plain("server", Profile::default(), program)
    }
}

/// A jemalloc with these options in force.
fn jemalloc(options: &[(&str, &str)]) -> ServerChoice {
    server(AllocatorFacts {
        family: AllocatorFamily::Jemalloc,
        version: Some("5.3.0".to_owned()),
        variable: Some("_RJEM_MALLOC_CONF".to_owned()),
        options: options
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        confidence: Some(Confidence::Certain),
        ..AllocatorFacts::default()
    })
}

fn server_with(family: AllocatorFamily, version: &str) -> ServerChoice {
    server(AllocatorFacts {
        family,
        version: Some(version.to_owned()),
        confidence: Some(Confidence::Certain),
        ..AllocatorFacts::default()
    })
}

/// Every cell with its settings.
fn listed(cells: &[Cell]) -> String {
    applied(&jemalloc(&[]), cells).iter().map(listed_line).collect()
}

fn listed_line(choice: &ServerChoice) -> String {
    let cell = choice.cell.as_ref().unwrap();
    let options = cell.init_options.as_deref().unwrap_or_default();
    let env: Vec<String> = cell.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let others = [
        choice.preload.to_string(),
        choice.args.join(" "),
        options.to_owned(),
        format!("{:?}", choice.cpus),
    ];
    format!("{}: {} | {}\n", choice.label, env.join(" "), others.join(" | "))
}

#[test]
fn axes_are_crossed_lists_are_joined_and_what_is_excluded_is_left_out() {
    let cells = read_grid("grid.toml", GRID).unwrap_or_else(|report| panic!("{report}"));
    shown!(listed(&cells));
}

#[test]
fn what_the_user_sets_anyway_stays_before_what_a_cell_sets() {
    let cells = read_grid("grid.toml", GRID).unwrap_or_else(|report| panic!("{report}"));
    let choices = applied(&jemalloc(&[]), &cells);
    assert_eq!(choices[0].env["_RJEM_MALLOC_CONF"], "tcache:true");
    assert!(choices[0].cell.as_ref().unwrap().default);
    let told = choices.iter().map(|choice| choice.env["_RJEM_MALLOC_CONF"].as_str());
    assert!(
        told.clone()
            .any(|value| value == "tcache:true,dirty_decay_ms:0,narenas:1"),
        "{:?}",
        told.collect::<Vec<_>>()
    );
}

#[test]
fn cells_that_set_the_same_are_one_and_names_are_made_unlike() {
    let twice = vec![
        Cell::variable("a", "A", "1"),
        Cell::variable("again", "A", "1"),
        Cell::variable("A", "A", "2"),
        Cell::variable(&"x".repeat(80), "A", "3"),
        Cell::variable(&"x".repeat(80), "A", "4"),
        Cell::variable("Default", "A", "5"),
    ];
    let labels: Vec<String> = merge_cells(twice).into_iter().map(|cell| cell.label).collect();
    assert_eq!(labels[..2], ["a", "A-2"]);
    assert_eq!(labels[4], "Default-2", "the server with nothing changed is called so");
    assert!(
        labels[2..].iter().all(|label| label.len() <= 64) && labels[2] != labels[3],
        "{labels:?}"
    );
}

fn axis(values: &str) -> String {
    format!("format = 1\n[[axis]]\nname = \"a\"\nvalues = [{values}]\n")
}

/// The reports on wrong grids, each under the name of its mistake.
fn mistakes(cases: &[(&str, String)]) -> String {
    let told = cases.iter().map(|(name, text)| match read_grid("grid.toml", text) {
        Ok(cells) => panic!("{name} is no mistake: {cells:?}"),
        Err(report) => format!("## {name}\n\n{report}\n"),
    });
    told.collect::<Vec<String>>().join("\n")
}

#[test]
fn mistakes_in_the_values_of_a_grid() {
    shown!(mistakes(&[
        ("a key nearly right", axis("{ enf = { A = \"1\" } }")),
        (
            "a value of the wrong type",
            axis("{ env = { A = 1 } }, { args = \"--x\" }")
        ),
        ("nothing but the default", axis("{ label = \"as-it-is\" }")),
        ("nothing to call it by", axis("{}, { args = [\"-x\"] }")),
        (
            "a label that names no file",
            axis("{ label = \"a/b\", args = [\"-x\"] }")
        ),
        (
            "two of a name",
            axis("{ label = \"x\", args = [\"-x\"] }, { label = \"X\", args = [\"-y\"] }")
        ),
        ("no variable", axis("{ env = { \"A=B\" = \"1\" } }")),
        ("no processors", axis("{ cpus = \"3-1\" }")),
        ("no allocator", axis("{ preload = \"jemaloc\" }")),
        (
            "options that are no table",
            axis("{ label = \"x\", init-options = 3, settings = \"y\" }")
        ),
    ]));
}

#[test]
fn mistakes_in_the_axes_of_a_grid() {
    let second = |values: &str| format!("[[axis]]\nname = \"b\"\nvalues = [{values}]\n");
    let again = "[[axis]]\nname = \"a\"\nvalues = [{ args = [\"-y\"] }]\n";
    let cell = |label: &str, arg: &str| format!("[[cell]]\nlabel = \"{label}\"\nargs = [\"{arg}\"]\n");
    let arenas = |number: u32| format!("{{ env = {{ MALLOC_ARENA_MAX = \"{number}\" }} }}");
    let capacity = |number: u32| format!("{{ settings = {{ lru = {{ capacity = {number} }} }} }}");
    let x = axis("{ args = [\"-xyz\"] }");
    shown!(mistakes(&[
        ("no format", x.replace("format = 1\n", "")),
        ("a newer format", "format = 2\n".to_owned()),
        ("no TOML", "format = 1\n[[axis\n".to_owned()),
        ("nothing", "format = 1\n".to_owned()),
        ("no values", axis("")),
        ("an axis without a name", x.replace("name = \"a\"\n", "")),
        ("one variable on two axes", axis(&arenas(1)) + &second(&arenas(2))),
        ("one option on two axes", axis(&capacity(1)) + &second(&capacity(2))),
        ("two axes of a name", format!("{x}{again}")),
        (
            "a value called as the default",
            axis("{ label = \"Default\", args = [\"-x\"] }, { args = [\"default\"] }")
        ),
        ("an exclusion of no axis", format!("{x}[[exclude]]\nb = \"x\"\n")),
        ("an exclusion of no value", format!("{x}[[exclude]]\na = \"xyy\"\n")),
        (
            "a cell called as the default",
            format!("format = 1\n{}", cell("default", "-x"))
        ),
        (
            "two cells of a name",
            format!("format = 1\n{}{}", cell("x", "-x"), cell("x", "-y"))
        ),
    ]));
}

#[test]
fn more_cells_than_anybody_waits_for_are_refused() {
    let values: Vec<String> = (0..15).map(|number| format!("{{ args = [\"-{number}\"] }}")).collect();
    for (axes, mistake) in [
        (vec!["a", "b"], "225 cells are too many"),
        (vec!["a", "b", "c", "d"], "too many cells"),
    ] {
        let mut text = "format = 1\n".to_owned();
        for name in axes {
            text += &format!("[[axis]]\nname = \"{name}\"\nvalues = [{}]\n", values.join(","));
        }
        let error = read_grid("grid.toml", &text).unwrap_err().to_string();
        assert!(error.contains(mistake), "{error}");
    }
}

fn preset_error(preset: Preset, server: &ServerChoice) -> String {
    preset_cells(preset, server).unwrap_err().to_string()
}

fn preset(preset: Preset, server: &ServerChoice) -> String {
    let (cells, notes) = preset_cells(preset, server).unwrap_or_else(|error| panic!("{error}"));
    format!("{preset}:\n{}{}\n", listed(&cells), notes.join("\n"))
}

#[test]
fn presets_try_what_the_allocator_has_and_skip_what_it_does_anyway() {
    let je = jemalloc(&[
        ("background_thread", "false"),
        ("dirty_decay_ms", "10000"),
        ("muzzy_decay_ms", "0"),
        ("narenas", "16"),
    ]);
    let mut mi = server_with(AllocatorFamily::Mimalloc, "3.3.2");
    mi.found.as_mut().unwrap().options = [
        ("purge_delay".to_owned(), "1000".to_owned()),
        ("allow_thp".to_owned(), "1".to_owned()),
    ]
    .into();
    let mut old = server_with(AllocatorFamily::Mimalloc, "2.0.9");
    old.found.as_mut().unwrap().options = [("decommit_delay".to_owned(), "25".to_owned())].into();
    let all = [
        preset(Preset::Jemalloc, &je),
        preset(Preset::Mimalloc, &mi),
        preset(Preset::Mimalloc, &old),
        preset(Preset::Glibc, &server_with(AllocatorFamily::Glibc, "2.36")),
        preset(Preset::Go, &server_with(AllocatorFamily::Go, "go1.22.1")),
        preset(Preset::Node, &server_with(AllocatorFamily::V8, "20.20.2")),
        preset(Preset::Preloads, &server_with(AllocatorFamily::Glibc, "2.36")),
    ];
    shown!(all.join("\n"));
}

#[test]
fn a_preset_that_does_not_fit_names_the_one_that_does() {
    let je = jemalloc(&[]);
    assert_eq!(
        preset_error(Preset::Glibc, &je),
        "`--preset glibc` is for glibc, and `server` uses jemalloc 5.3.0: use --preset jemalloc, or write a grid file"
    );
    assert!(
        preset_error(Preset::Node, &server_with(AllocatorFamily::Go, "go1.22"))
            .ends_with("use --preset go, or write a grid file")
    );
    assert!(
        preset_error(Preset::Go, &server_with(AllocatorFamily::Snmalloc, "0.7")).contains("there is no preset for it")
    );
    let unknown = server_with(AllocatorFamily::Unknown, "");
    assert!(
        preset_error(Preset::Glibc, &unknown).contains("allocator = { linked = \"system\" }"),
        "{}",
        preset_error(Preset::Glibc, &unknown)
    );
    assert!(preset_error(Preset::Mimalloc, &unknown).contains("allocator = { linked = \"mimalloc\" }"));
    let mut guess = server_with(AllocatorFamily::Glibc, "2.36");
    guess.found.as_mut().unwrap().confidence = Some(Confidence::Guess);
    assert!(preset_error(Preset::Go, &guess).contains("allocator = { linked = \"go\" }"));
}

#[test]
fn the_c_library_beside_another_allocator_can_be_set_too() {
    let mut node = server_with(AllocatorFamily::V8, "20.20.2");
    node.found.as_mut().unwrap().beside = Some("glibc 2.36".to_owned());
    assert!(preset_cells(Preset::Glibc, &node).is_ok());
}

#[test]
fn what_a_tunable_sets_already_is_not_tried_by_its_name_of_old() {
    let mut glibc = server_with(AllocatorFamily::Glibc, "2.36");
    let list = "glibc.malloc.arena_max=0x1:glibc.malloc.trim_threshold=9";
    glibc.env.insert("GLIBC_TUNABLES".to_owned(), list.to_owned());
    let (cells, notes) = preset_cells(Preset::Glibc, &glibc).unwrap();
    for (label, is_tried) in [("arenas-1", false), ("arenas-2", true), ("trim-64k", true)] {
        assert_eq!(cells.iter().any(|cell| cell.label == label), is_tried, "{label}");
    }
    assert!(notes[0].contains("arenas-1, which is already set"), "{notes:?}");
}

/// The sweep in each cell, where one cell sets `A` to this value.
fn sweep_facts(server: &ServerChoice, value: &str, notes: &[String]) -> Vec<SweepFacts> {
    let mut choices = applied(server, &[Cell::variable("a", "A", value)]);
    let sweep = SweepFacts {
        rungs: vec![1, 3],
        notes: notes.to_vec(),
        ..SweepFacts::default()
    };
    of_sweep(&mut choices, sweep);
    choices
        .into_iter()
        .map(|choice| choice.cell.unwrap().sweep.unwrap())
        .collect()
}

#[test]
fn a_sweep_is_known_by_everything_that_its_cells_are_given() {
    let server = jemalloc(&[]);
    let one = sweep_facts(&server, "1", &["not tried".to_owned()]);
    assert_eq!((one[0].notes.len(), one[1].notes.len()), (1, 0), "told once");
    assert!(one[0].cells == one[1].cells && one[0].cells.len() == 64);
    assert_eq!(sweep_facts(&server, "1", &[])[0].cells, one[0].cells);
    assert_ne!(sweep_facts(&server, "2", &[])[0].cells, one[0].cells);
    let mut other = server;
    other.args.push("--more".to_owned());
    assert_ne!(sweep_facts(&other, "1", &[])[0].cells, one[0].cells);
}
