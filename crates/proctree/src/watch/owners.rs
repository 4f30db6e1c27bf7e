//! Processes that run in the address space of another: children between `vfork` and exec, and those of `CLONE_VM`.

use record::Sample;

use super::super::member::Member;
use super::super::source::Source;
use super::Watch;

impl<S: Source> Watch<S> {
    /// Notes in whose address space a process runs, by its latest reading. The kernel's answer holds until processes come,
    /// go or run another program; equal counters are compared anew each time.
    pub(super) fn note_owner(&mut self, index: usize) {
        let member = &self.members[index];
        let counters = &member.reading.counters;
        let may_borrow = counters.forked == Some(true) && counters.resident.is_some_and(|resident| resident > 0);
        let version = self.members_version;
        let owner = match member.owner {
            _ if !may_borrow => None,
            Some((known_at, owner)) if known_at == version => owner,
            Some(_) | None => {
                let (owner, is_certain) = self.find_owner(index);
                self.members[index].owner = if is_certain { Some((version, owner)) } else { None };
                owner
            }
        };
        self.members[index].reading.counters.memory_of = owner;
    }

    /// The oldest process with the address space of this one, and true if the kernel answered for each.
    fn find_owner(&mut self, index: usize) -> (Option<u32>, bool) {
        let member = &self.members[index];
        let mut is_certain = true;
        let mut owner = None;
        for other in self.members.iter().filter(|other| may_own_memory_of(other, member)) {
            let is_same = self.source.shares_memory(&member.process, &other.process);
            is_certain &= is_same.is_some();
            let counters = &other.reading.counters;
            if is_same.unwrap_or_else(|| member.reading.counters.is_like_memory_of(counters)) {
                owner = Some(other.number);
                break;
            }
        }
        (owner, is_certain)
    }

    /// Counts the shared memory in the rounds of a checkpoint by the exact reading that followed them.
    pub fn count_shared_exactly(&self, rounds: &mut [Vec<Sample>]) {
        for sample in rounds.iter_mut().flatten() {
            if let Some(member) = self.members.iter().find(|member| member.number == sample.process) {
                member.count_shared_exactly(sample);
            }
        }
    }
}

/// True if memory of `member` may belong to `other`: a program of its own, or a fork that is older.
fn may_own_memory_of<P>(other: &Member<P>, member: &Member<P>) -> bool {
    let runs_program = other.reading.counters.forked != Some(true);
    other.number != member.number && !other.borrows() && (runs_program || other.number < member.number)
}
