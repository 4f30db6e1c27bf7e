//! Converts facts from `/proc` to recorded ones (pure).

use record::{Counters, Nanos};

use super::super::procfs::{Stat, Status};
use super::super::source::{Found, Kin};

pub(super) fn as_found(stat: &Stat) -> Found {
    Found {
        pid: stat.pid,
        parent: stat.parent,
        group: Some(stat.group),
        session: Some(stat.session),
        started: Some(stat.started),
    }
}

pub(super) fn kin(stat: &Stat) -> Kin {
    // It only has to differ if the name, the fork flag or the stack's address does.
    let mut program = 0xcbf2_9ce4_8422_2325;
    for byte in stat.name {
        program = mix(program, u64::from(*byte));
    }
    program = mix(program, u64::from(stat.forked()));
    program = mix(program, stat.stack);
    Kin {
        parent: stat.parent,
        group: Some(stat.group),
        session: Some(stat.session),
        reaped: Some(stat.reaped_faults + stat.reaped_user + stat.reaped_system),
        program,
    }
}

/// One step of the hash FNV-1a.
fn mix(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x100_0000_01b3)
}

pub(super) fn count_stat(counters: &mut Counters, stat: &Stat, tick: Nanos) {
    counters.minor_faults = Some(stat.minor_faults);
    counters.major_faults = Some(stat.major_faults);
    counters.user = Some(stat.user * tick);
    counters.system = Some(stat.system * tick);
    counters.threads = Some(stat.threads);
    counters.virtual_size = Some(stat.virtual_size);
    counters.forked = Some(stat.forked());
}

pub(super) fn count_status(counters: &mut Counters, status: &Status) {
    counters.resident = status.resident;
    counters.private = status.anonymous.map(|anonymous| anonymous + status.swap.unwrap_or(0));
    counters.file = status.file;
    counters.shared = status.shared;
    counters.swap = status.swap;
    counters.high_water = status.high_water;
    counters.virtual_size = status.virtual_size;
    counters.threads = status.threads;
}
