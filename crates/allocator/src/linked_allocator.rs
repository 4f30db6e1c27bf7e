//! The allocator or runtime inside a program, by its file alone: no process, no libraries.

use std::path::Path;

use super::scan::{self, Mark, Scan};
use super::verdict::{Signs, families};
use record::AllocatorFamily;

/// An allocator or runtime within a program, whose memory is outside of the C library's allocator. `None` without
/// signs, or with signs of several, as in a program that only knows of allocators.
pub fn linked_allocator(program: &Path) -> Option<AllocatorFamily> {
    family_in(scan::file(program).ok()?)
}

fn family_in(scan: Scan) -> Option<AllocatorFamily> {
    let has_v8 = scan.marks.contains(&Mark::Node) || scan.marks.contains(&Mark::V8);
    let is_go = scan.go.is_some();
    let signs = Signs {
        marks: scan.marks,
        ..Signs::default()
    };
    let families = families(&signs);
    match families.first() {
        Some(family) if families.len() == 1 => Some(*family),
        Some(_) => None,
        None if is_go => Some(AllocatorFamily::Go),
        None if has_v8 => Some(AllocatorFamily::V8),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_keeps_within_is_told_from_its_marks() {
        let jemalloc = Mark::Family(AllocatorFamily::Jemalloc);
        let mimalloc = Mark::Family(AllocatorFamily::Mimalloc);
        for (marks, go, family) in [
            (vec![Mark::Rust], None, None),
            (
                vec![Mark::Rust, Mark::RustJemalloc, jemalloc],
                None,
                Some(AllocatorFamily::Jemalloc),
            ),
            (vec![jemalloc, mimalloc], None, None),
            (vec![Mark::Go], Some("go1.26.0"), Some(AllocatorFamily::Go)),
            (vec![Mark::Go], None, None),
            (vec![Mark::Node], None, Some(AllocatorFamily::V8)),
            (vec![Mark::V8, Mark::Rust], None, Some(AllocatorFamily::V8)),
            // Large blocks come from the C library, and empty arenas are returned at once.
            (vec![Mark::Python], None, None),
        ] {
            let scan = Scan {
                marks: marks.into_iter().collect(),
                go: go.map(str::to_owned),
            };
            assert_eq!(family_in(scan.clone()), family, "{scan:?}");
        }
        assert_eq!(linked_allocator(Path::new("/nowhere")), None);
    }
}
