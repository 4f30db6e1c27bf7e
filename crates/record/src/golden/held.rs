//! The memory of a process in an invented session.

use crate::{Counters, Nanos, Rollup, SharedMemory};

use super::session::MIB;

#[derive(Clone, Copy, Default)]
pub(super) struct Held {
    pub private: u64,
    pub file: u64,
    pub mark: u64,
    pub cpu: Nanos,
    pub faults: u64,
}

impl Held {
    pub fn counters(&self) -> Counters {
        let resident = self.private + self.file;
        Counters {
            resident: Some(resident),
            private: Some(self.private),
            own_shared: None,
            file: Some(self.file),
            shared: Some(0),
            swap: Some(0),
            high_water: Some(self.mark.max(resident)),
            private_high_water: None,
            virtual_size: Some(resident * 4),
            minor_faults: Some(self.faults),
            major_faults: Some(3),
            user: Some(self.cpu * 9 / 10),
            system: Some(self.cpu / 10),
            cpu: None,
            threads: Some(5),
            forked: Some(false),
            memory_of: None,
        }
    }

    pub fn rollup(&self, process: u32) -> Rollup {
        Rollup {
            process,
            resident: self.private + self.file,
            proportional: self.private + self.file * 3 / 4,
            proportional_anonymous: Some(self.private),
            proportional_file: Some(self.file * 3 / 4),
            proportional_shared: Some(0),
            unique: self.private + self.file / 2,
            anonymous: self.private,
            lazy_free: self.private / 50,
            huge_pages: self.private / 4 / (2 * MIB) * (2 * MIB),
            shared_memory: Some(SharedMemory::default()),
            cost: 900_000,
            ..Rollup::default()
        }
    }
}
