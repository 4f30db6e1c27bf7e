//! Removes a directory with everything in it. It steps from directory to directory, so no path becomes too long, few
//! descriptors are open, and nothing behind a link or a mount is touched.

use std::ffi::{CStr, CString, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, chmodat, fchmod, fstat, openat, unlinkat};
use rustix::io::Errno;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A path that could not be removed, with the reason.
#[derive(Debug)]
pub(super) struct Obstacle {
    pub path: PathBuf,
    pub error: io::Error,
}

/// A directory on the way down.
struct Level {
    name: CString,
    /// Device and inode.
    identity: (i128, i128),
    /// Directories in it that were not visited yet.
    waiting: Vec<CString>,
}

struct Removal<'a> {
    top: &'a Path,
    levels: Vec<Level>,
    current: OwnedFd,
    obstacle: Option<Obstacle>,
}

/// Removes `top` and all that can be removed below it. The error is of the first thing that stays; a `top` that does
/// not exist is none.
pub(super) fn remove(top: &Path) -> Result<(), Obstacle> {
    let failed = |errno: Errno| Obstacle {
        path: top.to_owned(),
        error: errno.into(),
    };
    let mut opened = openat(CWD, top, DIRECTORY, Mode::empty());
    if opened.as_ref().is_err_and(|errno| *errno == Errno::ACCESS) {
        chmodat(CWD, top, Mode::RWXU, AtFlags::empty()).map_err(failed)?;
        opened = openat(CWD, top, DIRECTORY, Mode::empty());
    }
    let current = match opened {
        Ok(directory) => directory,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(failed(errno)),
    };
    let identity = identity(&current).map_err(failed)?;
    let mut removal = Removal {
        top,
        levels: vec![Level {
            name: CString::default(),
            identity,
            waiting: Vec::new(),
        }],
        current,
        obstacle: None,
    };
    removal.empty_current();
    removal.walk().map_err(failed)?;
    match removal.obstacle {
        Some(obstacle) => Err(obstacle),
        None => unlinkat(CWD, top, AtFlags::REMOVEDIR).map_err(failed),
    }
}

impl Removal<'_> {
    /// Visits every directory. An error means that the way back up is lost.
    fn walk(&mut self) -> Result<(), Errno> {
        loop {
            let Some(level) = self.levels.last_mut() else {
                return Ok(());
            };
            if let Some(name) = level.waiting.pop() {
                self.enter(name);
            } else if self.levels.len() == 1 {
                return Ok(());
            } else {
                self.leave()?;
            }
        }
    }

    fn enter(&mut self, name: CString) {
        let opened = open(&self.current, name.as_c_str()).and_then(|directory| Ok((identity(&directory)?, directory)));
        match opened {
            Ok((identity, directory)) => {
                self.current = directory;
                self.levels.push(Level {
                    name,
                    identity,
                    waiting: Vec::new(),
                });
                self.empty_current();
            }
            Err(errno) => self.meet(&name, errno),
        }
    }

    /// Goes up, and removes the directory that is left.
    fn leave(&mut self) -> Result<(), Errno> {
        let above = openat(&self.current, c"..", DIRECTORY, Mode::empty())?;
        let below = self.levels.pop();
        // Something moved the directory: what lies above it now is not ours to remove.
        if self
            .levels
            .last()
            .is_none_or(|level| identity(&above) != Ok(level.identity))
        {
            return Err(Errno::STALE);
        }
        self.current = above;
        if let Some(below) = below
            && let Err(errno) = unlinkat(&self.current, below.name.as_c_str(), AtFlags::REMOVEDIR)
        {
            self.meet(&below.name, errno);
        }
        Ok(())
    }

    /// Removes the files of the current directory, and notes its directories.
    fn empty_current(&mut self) {
        // A server may have taken the rights away.
        let _ = fchmod(&self.current, Mode::RWXU);
        let entries = match Dir::read_from(&self.current) {
            Ok(entries) => entries,
            Err(errno) => return self.meet(c"", errno),
        };
        let mut names = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => names.push((entry.file_name().to_owned(), entry.file_type())),
                Err(errno) => self.meet(c"", errno),
            }
        }
        for (name, kind) in names {
            if name.as_c_str() == c"." || name.as_c_str() == c".." {
                continue;
            }
            if kind != FileType::Directory {
                match unlinkat(&self.current, name.as_c_str(), AtFlags::empty()) {
                    Ok(()) | Err(Errno::NOENT) => continue,
                    // The file system did not give its type.
                    Err(Errno::ISDIR) => {}
                    Err(errno) => {
                        self.meet(&name, errno);
                        continue;
                    }
                }
            }
            if let Some(level) = self.levels.last_mut() {
                level.waiting.push(name);
            }
        }
    }

    /// Keeps the first obstacle: a directory that stays because of it is a consequence.
    fn meet(&mut self, name: &CStr, errno: Errno) {
        if self.obstacle.is_some() {
            return;
        }
        let mut path = self.top.to_owned();
        let below = self.levels.iter().skip(1).map(|level| level.name.as_c_str());
        for part in below.chain([name]) {
            if !part.is_empty() {
                path.push(OsString::from_vec(part.to_bytes().to_vec()));
            }
        }
        self.obstacle = Some(Obstacle {
            path,
            error: errno.into(),
        });
    }
}

/// Opens a directory below `parent`, with rights restored if they are missing. A mount is an error.
fn open(parent: &OwnedFd, name: &CStr) -> Result<OwnedFd, Errno> {
    match open_unmounted(parent, name) {
        Err(Errno::ACCESS) => {
            chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
            open_unmounted(parent, name)
        }
        opened => opened,
    }
}

#[cfg(target_os = "linux")]
fn open_unmounted(parent: &OwnedFd, name: &CStr) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    match openat2(parent, name, DIRECTORY, Mode::empty(), ResolveFlags::NO_XDEV) {
        // Linux before 5.6, or a container that does not know the call.
        Err(Errno::NOSYS) => open_same_device(parent, name),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_unmounted(parent: &OwnedFd, name: &CStr) -> Result<OwnedFd, Errno> {
    open_same_device(parent, name)
}

fn open_same_device(parent: &OwnedFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let directory = openat(parent, name, DIRECTORY, Mode::empty())?;
    if identity(&directory)?.0 == identity(parent)?.0 {
        Ok(directory)
    } else {
        Err(Errno::XDEV)
    }
}

/// Device and inode, in the widest integer of any system.
fn identity(directory: &OwnedFd) -> Result<(i128, i128), Errno> {
    let stat = fstat(directory)?;
    Ok((i128::from(stat.st_dev), i128::from(stat.st_ino)))
}
