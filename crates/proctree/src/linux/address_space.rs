//! Asks the kernel whether two processes run in one address space.
#![expect(unsafe_code, reason = "no safe wrapper compares processes")]

/// `KCMP_VM` of `enum kcmp_type` (include/uapi/linux/kcmp.h): compares address spaces.
const ADDRESS_SPACE: libc::c_long = 1;

/// True where the kernel answers; many containers refuse the question.
pub(super) fn may_ask() -> bool {
    let own = std::process::id();
    is_same(own, own).is_some()
}

/// True if two processes run in one address space; `None` where the kernel refuses the question, as in many containers, or
/// one of the processes has ended.
pub(super) fn is_same(one: u32, other: u32) -> Option<bool> {
    // Wide enough for any process id and any system's argument.
    let one = libc::c_long::from(i32::try_from(one).ok()?);
    let other = libc::c_long::from(i32::try_from(other).ok()?);
    let unused: libc::c_long = 0;
    // SAFETY: the call has five arguments, all integers, and writes to no memory of ours (kcmp(2)).
    let answer = unsafe { libc::syscall(libc::SYS_kcmp, one, other, ADDRESS_SPACE, unused, unused) };
    // 0: the same; 1, 2: the order of two that differ; 3: no order; −1: refused.
    match answer {
        0 => Some(true),
        1..=3 => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_shares_memory_with_itself_and_not_with_a_program_that_it_started() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("there is `sleep`");
        let own = std::process::id();
        // A container may refuse the question.
        if let Some(is_same) = is_same(own, own) {
            assert!(is_same);
            assert_eq!(super::is_same(own, child.id()), Some(false));
        }
        child.kill().expect("it is our child");
        child.wait().expect("it is our child");
        assert_eq!(super::is_same(own, 0), None);
    }
}
