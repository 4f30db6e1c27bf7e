//! The memory that a server itself reports. Pure: takes the raw answer.

use serde::Deserialize;

use crate::config::Total;

/// A million bytes, which Salsa's report calls a megabyte.
const MEGABYTE: f64 = 1e6;

/// The total in bytes; `None` if the answer has none.
pub fn total(of: Total, answer: &str) -> Option<u64> {
    match of {
        Total::None => None,
        Total::Number => serde_json::from_str(answer).ok(),
        Total::Tree => serde_json::from_str::<Tree>(answer).ok().map(|tree| tree.total),
        Total::HeapAlloc => serde_json::from_str::<Heap>(answer).ok().map(|heap| heap.alloc),
        Total::Salsa => sum_of_lines(answer, salsa_total),
        Total::Queries => sum_of_lines(answer, query_size),
    }
}

/// A node of clangd's tree; its total includes its children.
#[derive(Deserialize)]
struct Tree {
    #[serde(rename = "_total")]
    total: u64,
}

#[derive(Deserialize)]
struct Heap {
    #[serde(rename = "HeapAlloc")]
    alloc: u64,
}

/// Sums the values found in the lines of a text; `None` if no line has one.
fn sum_of_lines(answer: &str, find: fn(&str) -> Option<u64>) -> Option<u64> {
    let text: String = serde_json::from_str(answer).ok()?;
    text.lines().filter_map(find).reduce(u64::saturating_add)
}

/// Bytes of a line of salsa's report: `TOTAL MEMORY USAGE: 28.05MB`.
fn salsa_total(line: &str) -> Option<u64> {
    let number = line
        .trim()
        .strip_prefix("TOTAL MEMORY USAGE:")?
        .trim()
        .strip_suffix("MB")?;
    bytes(number, MEGABYTE)
}

/// Bytes of a query's line, `    20mb ParseQuery`, in whole units of 1,024. Excludes memory that remains after all queries were freed.
fn query_size(line: &str) -> Option<u64> {
    let (size, name) = line.trim().split_once(' ')?;
    if name.trim() == "Remaining" {
        return None;
    }
    let units = [("gb", 30), ("mb", 20), ("kb", 10), ("b", 0)];
    let (number, power) = units
        .iter()
        .find_map(|(unit, power)| Some((size.strip_suffix(unit)?, *power)))?;
    bytes(number, f64::from(1 << power))
}

fn bytes(number: &str, unit: f64) -> Option<u64> {
    let number: f64 = number.parse().ok()?;
    if !number.is_finite() || number < 0.0 {
        return None;
    }
    Some((number * unit).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clangd_14_accounts_for_its_whole_tree() {
        let answer = r#"{"_self":0,"_total":1267344,"clangd_server":{"_self":0,"_total":1267344,"background_index":
            {"_self":0,"_total":0,"index":{"_self":0,"_total":0},"slabs":{"_self":0,"_total":0}},"dynamic_index":
            {"_self":0,"_total":1147584}}}"#;
        assert_eq!(total(Total::Tree, answer), Some(1_267_344));
    }

    #[test]
    fn gopls_0_20_accounts_for_what_is_alive_on_its_heap() {
        let answer = r#"{"HeapAlloc":251400504,"HeapInUse":287858688,"TotalAlloc":693540208}"#;
        assert_eq!(total(Total::HeapAlloc, answer), Some(251_400_504));
    }

    #[test]
    fn ty_0_0_105_accounts_for_the_databases_of_all_projects() {
        let report = "Open text documents: 1\\n\\nMemory report:\\n=======SALSA STRUCTS=======\\n`Definition`    \
            metadata=0.55MB   fields=0.46MB   count=5792\\n=======SALSA SUMMARY=======\\nTOTAL MEMORY USAGE: 28.05MB\\n    \
            struct metadata = 2.07MB\\n    struct fields = 1.93MB\\n    memo metadata = 2.09MB\\n    memo fields = 21.96MB\\n";
        let one = format!("\"{report}\"");
        assert_eq!(total(Total::Salsa, &one), Some(28_050_000));
        assert_eq!(total(Total::Salsa, &format!("\"{report}{report}\"")), Some(56_100_000));
    }

    #[test]
    fn rust_analyzer_accounted_for_queries_and_what_remains_is_in_none() {
        let answer = r#""    20mb FileTextQuery\n  4096kb ParseQuery\n     512b (self) Other\n    90mb Remaining\n""#;
        assert_eq!(total(Total::Queries, answer), Some((24 << 20) + 512));
    }

    #[test]
    fn the_fixture_accounts_for_what_it_holds() {
        assert_eq!(total(Total::Number, "67108864"), Some(64 << 20));
    }

    #[test]
    fn what_has_no_total_accounts_for_nothing_that_is_known() {
        let ruff = r#""Global:\nexecutable = /usr/bin/ruff\nversion = 0.17.6\nopen_documents_len = 1\n""#;
        for of in [
            Total::None,
            Total::Number,
            Total::Tree,
            Total::HeapAlloc,
            Total::Salsa,
            Total::Queries,
        ] {
            assert_eq!(total(of, ruff), None, "{of:?}");
            assert_eq!(total(of, "null"), None, "{of:?}");
            assert_eq!(total(of, r#"{"_total":-1,"HeapAlloc":"x"}"#), None, "{of:?}");
        }
    }
}
