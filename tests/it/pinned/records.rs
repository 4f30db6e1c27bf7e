//! What the records of runs on pinned workspaces hold, and which of them are compared.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{Place, archive};

/// The header of the only record of a run of `workspace`, whose server ends at once.
fn header(place: &Place, workspace: &str, out: &str) -> Value {
    place.check(workspace);
    place.soak(&["run", "a.toml", "--server", "/bin/true", "--out", out]);
    first_header(place, out)
}

pub fn first_header(place: &Place, out: &str) -> Value {
    headers(place, out).swap_remove(0)
}

/// The headers of all records.
fn headers(place: &Place, out: &str) -> Vec<Value> {
    let records = fs::read_dir(place.path().join(out)).expect("it was made").flatten();
    let records = records.map(|entry| entry.path());
    let records = records.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    records.map(|path| read_header(&path)).collect()
}

fn read_header(record: &Path) -> Value {
    let text = fs::read_to_string(record).expect("it is ours");
    serde_json::from_str(text.lines().next().expect("it has a header")).expect("it is JSON")
}

#[test]
fn the_record_has_the_origin_and_the_hash_of_what_was_fetched() {
    let place = Place::new();
    let (url, commit) = place.repository();
    let sum = place.write("a.tgz", &archive(&[("a-1/a.py", "a = 1\n")]));
    let git = format!("git = \"{url}\"\nrev = \"{commit}\"");
    let of_git = header(&place, &format!("{git}\nsetup = \"cp a.py b.py\""), "git");
    let origin = &of_git["workspace"]["origin"];
    assert_eq!(origin["origin"], format!("git:{url}#{commit}"));
    assert_eq!(origin["setup"], "cp a.py b.py");
    assert_eq!(of_git["workspace"]["files"], 2);
    // The same files of another origin have the same hash, and the setup does not count.
    let of_archive = header(&place, &format!("archive = \"a.tgz\"\nsha256 = \"{sum}\""), "archive");
    assert_eq!(of_archive["workspace"]["origin"]["sha256"], origin["sha256"]);
    assert_eq!(of_archive["workspace"]["origin"]["setup"], Value::Null);
    assert_eq!(
        of_archive["workspace"]["origin"]["sha256"], of_archive["workspace"]["tree"]["sha256"],
        "it is the hash of what the server sees"
    );
    // A directory has no origin.
    let of_directory = header(&place, "path = \"repository\"", "directory");
    assert_eq!(of_directory["workspace"].get("origin"), None);
}

#[test]
fn a_version_that_is_left_open_is_the_newest_of_the_day_and_stays_so_when_it_is_gone_on_with() {
    let place = Place::new();
    place.write("source.tgz", &archive(&[("shop/a.py", "a = 1\n")]));
    offer_versions(&place, "2.1, 2.0");
    let said = place.soak(&[
        "cold", "true", "--workspace", "pypi:shop", "-r", "2", "--trace-syscalls", "--out", "out",
    ]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let told = "`pypi:shop` has no version: using the newest, `pypi:shop==2.1`";
    assert!(said.stderr.contains(told), "{}", said.stderr);
    fs::remove_file(place.path().join("out/run-001-true.jsonl")).expect("it was recorded");
    offer_versions(&place, "3.0, 2.1, 2.0");
    let resumed = place.soak(&["cold", "--resume", "out"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let headers = headers(&place, "out");
    assert_eq!(headers.len(), 3, "one is traced");
    for header in headers {
        assert_eq!(header["workspace"]["origin"]["origin"], "pypi:shop==2.1");
        let called = header["settings"]["command_line"].as_array().expect("it was called");
        assert!(called.contains(&"pypi:shop==2.1".into()), "{called:?}");
    }
}

/// Replaces the client of PyPI by one that lists these versions, and downloads the same archive of each.
fn offer_versions(place: &Place, versions: &str) {
    let archive = place.path().join("source.tgz");
    place.client(
        "python3",
        &format!(
            "case \"$*\" in *index*) echo 'Available versions: {versions}'; exit ;; esac\n\
             while [ \"$1\" != --dest ]; do shift; done; cp {} \"$2\"",
            archive.display()
        ),
    );
}

#[test]
fn unequal_contents_are_never_compared() {
    let place = Place::new();
    let a = put_record(&place, (1, "a"), "pypi:shop==1", "aa");
    let same = put_record(&place, (2, "b"), "git:URL#0123456", "aa");
    let other = put_record(&place, (3, "b"), "pypi:shop==2", "bb");
    let equal = place.soak(&["compare", &a, &same]);
    assert_eq!(equal.code, Some(0), "{}", equal.stderr);
    let refused = place.soak(&["compare", &a, &other]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(
        refused.stderr.contains("the runs differ in pinned workspace (aa, bb)"),
        "{}",
        refused.stderr
    );
    let gate = place.soak(&[
        "gate", "--from", &a, "--from", &other, "--baseline", "a", "--candidate", "b",
    ]);
    assert_eq!(gate.code, Some(2), "{}", gate.stdout);
    assert!(gate.stderr.contains("pinned workspace (aa, bb)"), "{}", gate.stderr);
}

/// Writes a golden record of a server's run as one on a workspace of this origin and hash. Returns its name.
fn put_record(place: &Place, (number, label): (u32, &str), origin: &str, hash: &str) -> String {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/records/completed.jsonl");
    let text = fs::read_to_string(golden).expect("it is checked in");
    let (header, rest) = text.split_once('\n').expect("it has a header");
    let mut header: Value = serde_json::from_str(header).expect("it is JSON");
    header["plan"]["run"] = number.into();
    header["server"]["label"] = label.into();
    header["workspace"]["origin"] = serde_json::json!({ "origin": origin, "setup": null, "sha256": hash });
    let name = format!("run-{number:03}-{label}.jsonl");
    fs::write(place.path().join(&name), format!("{header}\n{rest}")).expect("the directory is ours");
    name
}
