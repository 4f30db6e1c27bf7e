//! Variables that hold lists of options, to which several may add.

use std::collections::BTreeSet;

/// Options of jemalloc that add to themselves: the later of two does not take the place of the earlier.
const ADDING: [&str; 2] = ["bin_shards", "slab_sizes"];

/// What separates the entries of a variable that holds a list, so that two of them can be set by different axes.
pub fn separator(variable: &str) -> Option<&'static str> {
    match variable {
        "_RJEM_MALLOC_CONF" | "MALLOC_CONF" | "JE_MALLOC_CONF" | "GODEBUG" => Some(","),
        "GLIBC_TUNABLES" => Some(":"),
        "NODE_OPTIONS" => Some(" "),
        _ => None,
    }
}

/// A list with more on its end, where it wins; `None` of a variable that holds no list. An option that both set is there
/// once, with the later value: a line that is shipped says what is in force.
pub fn added(variable: &str, own: &str, more: &str) -> Option<String> {
    let separator = separator(variable)?;
    let entries = |list| str::split(list, separator).filter(|entry| !entry.is_empty());
    let again: BTreeSet<String> = entries(more).filter_map(|entry| option(variable, entry)).collect();
    let is_set_again = |entry: &&str| option(variable, entry).is_some_and(|name| again.contains(&name));
    // Between quotes a blank is no end of an option.
    let parts: Vec<&str> = if own.contains(['"', '\'']) {
        [own, more].into_iter().filter(|part| !part.is_empty()).collect()
    } else {
        let kept = entries(own).filter(|entry| !is_set_again(entry));
        kept.chain(entries(more)).collect()
    };
    Some(parts.join(separator))
}

/// The name of the option that an entry sets; `None` where several of a name stand beside each other.
fn option(variable: &str, entry: &str) -> Option<String> {
    match variable {
        "GODEBUG" | "GLIBC_TUNABLES" => entry.split_once('=').map(|(name, _)| name.to_owned()),
        "NODE_OPTIONS" => {
            let (name, _) = entry.split_once('=')?;
            // V8 takes both; and but for sizes, what is given twice may be meant twice, as `--require` is.
            let name = name.replace('_', "-");
            name.ends_with("-size").then_some(name)
        }
        _ => {
            let (name, _) = entry.split_once(':')?;
            (!ADDING.contains(&name)).then(|| name.to_owned())
        }
    }
}

/// Whether a list still sets all that `asked` does: whoever changed it only added to it. Of an option that is there twice the
/// later counts. False of a variable that holds no list.
pub fn holds(variable: &str, asked: &str, list: &str) -> bool {
    let Some(separator) = separator(variable) else {
        return false;
    };
    let (mut own, now) = (asked.split(separator), list.split(separator).collect::<Vec<&str>>());
    let last = |list: &[&str], name: &str| {
        let mut entries = list.iter().rev();
        let is_named = |entry: &&&str| option(variable, entry).as_deref() == Some(name);
        entries.find(is_named).map(|entry| (*entry).to_owned())
    };
    let all: Vec<&str> = asked.split(separator).collect();
    own.all(|entry| match option(variable, entry) {
        Some(name) => last(&now, &name) == last(&all, &name),
        None => now.contains(&entry),
    })
}

/// The pairs of jemalloc's options in a list.
pub fn pairs(list: &str) -> impl Iterator<Item = (&str, &str)> {
    list.split(',').filter_map(|entry| entry.split_once(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_two_set_is_there_once_with_the_later_value() {
        for (variable, own, more, both) in [
            (
                "MALLOC_CONF",
                "narenas:2,dirty_decay_ms:0",
                "dirty_decay_ms:5",
                "narenas:2,dirty_decay_ms:5",
            ),
            (
                "MALLOC_CONF",
                "bin_shards:1-8:2",
                "bin_shards:9-16:4",
                "bin_shards:1-8:2,bin_shards:9-16:4",
            ),
            ("MALLOC_CONF", "", "narenas:1", "narenas:1"),
            ("MALLOC_CONF", "narenas:1", "", "narenas:1"),
            (
                "GLIBC_TUNABLES",
                "glibc.malloc.arena_max=1:glibc.a.b=2",
                "glibc.malloc.arena_max=4",
                "glibc.a.b=2:glibc.malloc.arena_max=4",
            ),
            (
                "GODEBUG",
                "madvdontneed=0,gctrace=1",
                "madvdontneed=1",
                "gctrace=1,madvdontneed=1",
            ),
            (
                "NODE_OPTIONS",
                "--require=a --max_old_space_size=9",
                "--require=b --max-old-space-size=7",
                "--require=a --require=b --max-old-space-size=7",
            ),
            (
                "NODE_OPTIONS",
                "--require='a  b'",
                "--expose-gc",
                "--require='a  b' --expose-gc",
            ),
        ] {
            assert_eq!(added(variable, own, more).as_deref(), Some(both));
        }
        assert_eq!(added("MALLOC_ARENA_MAX", "1", "2"), None);
    }

    #[test]
    fn a_list_that_was_only_added_to_sets_all_that_was_asked_for() {
        for (variable, asked, list, holds_all) in [
            ("MALLOC_CONF", "dirty_decay_ms:0", "dirty_decay_ms:0,narenas:2", true),
            ("MALLOC_CONF", "dirty_decay_ms:0", "narenas:2,dirty_decay_ms:0", true),
            ("MALLOC_CONF", "narenas:1,narenas:2", "narenas:2,thp:never", true),
            (
                "MALLOC_CONF",
                "dirty_decay_ms:0",
                "dirty_decay_ms:0,dirty_decay_ms:5",
                false,
            ),
            ("MALLOC_CONF", "dirty_decay_ms:0", "narenas:2", false),
            ("GODEBUG", "madvdontneed=1", "gctrace=1,madvdontneed=1", true),
            ("NODE_OPTIONS", "--require='a b'", "--expose-gc --require='a b'", true),
            (
                "NODE_OPTIONS",
                "--max-old-space-size=9",
                "--max-old-space-size=9 --max_old_space_size=7",
                false,
            ),
            ("GOGC", "5", "50", false),
        ] {
            assert_eq!(holds(variable, asked, list), holds_all, "{variable}={list}");
        }
    }
}
