//! Huge pages of all programs started from here on: `PR_SET_THP_DISABLE` is inherited and survives exec (prctl(2)).
#![expect(
    unsafe_code,
    reason = "no safe wrapper passes the flag that exempts memory for which huge pages were asked"
)]

use std::io;

use record::HugePages;

/// `PR_THP_DISABLE_EXCEPT_ADVISED` (include/uapi/linux/prctl.h), since Linux 6.18.
const EXCEPT_ADVISED: libc::c_ulong = 1 << 1;

/// Limits huge pages to `mode`. Nothing is done where `system`, the system's own mode, is that one already.
///
/// # Errors
/// The kind is `Unsupported` where the system cannot; the text says what it has instead.
pub fn limit(mode: HugePages, system: Option<&str>) -> io::Result<()> {
    if state().is_some_and(|state| state.is_disabled) {
        return if mode == HugePages::Never {
            Ok(())
        } else {
            Err(unsupported("they are disabled for lsp-soak itself"))
        };
    }
    match (mode, system) {
        (_, None) => Err(unsupported("the kernel has none")),
        (HugePages::Never, Some("never"))
        | (HugePages::Madvise, Some("madvise"))
        | (HugePages::Always, Some("always")) => Ok(()),
        (HugePages::Never, Some(_)) => Ok(rustix::thread::disable_transparent_huge_pages(true)?),
        (HugePages::Madvise, Some("always")) => except_advised(),
        (HugePages::Madvise | HugePages::Always, Some(system)) => Err(unsupported(&format!(
            "the system says {system}, and a process can only have fewer of them: an administrator can set \
             `/sys/kernel/mm/transparent_hugepage/enabled`"
        ))),
    }
}

/// Huge pages of this process.
#[derive(Clone, Copy)]
pub struct State {
    pub is_disabled: bool,
    /// True if memory that asks for huge pages with `madvise` still gets them.
    pub is_advised_exempt: bool,
}

/// Reads the state of this process; `None` if the kernel does not tell.
pub fn state() -> Option<State> {
    // SAFETY: takes no pointer and changes nothing; all arguments but the first must be 0.
    let state = unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) };
    let state = libc::c_ulong::try_from(state).ok()?;
    Some(State {
        is_disabled: state & 1 != 0,
        is_advised_exempt: state & EXCEPT_ADVISED != 0,
    })
}

fn except_advised() -> io::Result<()> {
    let yes: libc::c_ulong = 1;
    let none: libc::c_ulong = 0;
    // SAFETY: takes no pointer; it changes only how this process and its children get pages.
    if unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, yes, EXCEPT_ADVISED, none, none) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EINVAL) => Err(unsupported(
            "the system says always, and only Linux 6.18 and later can exempt what was asked for with madvise",
        )),
        _ => Err(error),
    }
}

fn unsupported(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, why.to_owned())
}
