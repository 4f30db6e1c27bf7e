//! `--thp` takes effect in every process.

use std::fs;

use record::{Event, HugePages, open};

use crate::ground::PreparedWorkspace;

fn system() -> String {
    let modes = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").expect("the kernel has huge pages");
    let chosen = modes.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.expect("one mode is chosen").0.to_owned()
}

#[test]
fn huge_pages_that_are_disabled_are_seen_to_be_in_the_server_and_its_children() {
    let ground = PreparedWorkspace::pair().with_server("base", &["--children", "1,1MiB"], "");
    ground.stdout(&[
        "run", "scenario.toml", "--server", "base", "--thp", "never", "--out", "out", "-q",
    ]);
    let reader = open(&ground.records("out")[0]).expect("it was written");
    assert_eq!(reader.header().settings.huge_pages, Some(HugePages::Never));
    assert_eq!(reader.header().host.memory.huge_pages(), Some("never"));
    let limited = system() != "never";
    let mut seen = 0;
    for entry in reader {
        if let Event::Process(process) = entry.expect("it can be read").event {
            assert_eq!(process.huge_pages, Some(!limited), "{}", process.name);
            seen += 1;
        }
    }
    assert!(seen >= 2, "{seen} processes");
}

#[test]
fn more_huge_pages_than_the_system_has_are_refused_before_anything_is_started() {
    let ground = PreparedWorkspace::pair().with_server("base", &[], "");
    let words = [
        "run", "scenario.toml", "--server", "base", "--thp", "always", "--out", "out", "-q",
    ];
    if system() == "always" {
        ground.stdout(&words);
        return;
    }
    let (_, stderr) = ground.ends(2, &words);
    assert!(
        stderr.contains("cannot do `--thp always`") && stderr.contains("the system says"),
        "{stderr}"
    );
    assert!(ground.records("out").is_empty());
}
