//! A writable layer over the original, with Linux's overlayfs.

use std::path::Path;

use super::WorkspaceError;

/// Mounts at `root` a view of `source` whose changes go to `layers`.
#[cfg(target_os = "linux")]
pub(super) fn mount(source: &Path, layers: &Path, root: &Path) -> Result<(), WorkspaceError> {
    use std::ffi::CString;
    use std::fs;

    use rustix::io::Errno;
    use rustix::mount::MountFlags;

    let refused = |reason: String| WorkspaceError::Overlay {
        path: source.to_owned(),
        reason,
    };
    let (upper, work) = (layers.join("upper"), layers.join("work"));
    for dir in [&upper, &work, &root.to_owned()] {
        fs::create_dir_all(dir).map_err(|error| WorkspaceError::io("create", dir, error))?;
    }
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        source.display(),
        upper.display(),
        work.display()
    );
    if [source, &upper]
        .iter()
        .any(|path| path.to_str().is_none_or(|text| text.contains([',', ':', '\\'])))
    {
        return Err(refused(
            "its path contains a comma, a colon or a backslash, or is not UTF-8".to_owned(),
        ));
    }
    let options = CString::new(options).map_err(|_| refused("its path has a zero byte".to_owned()))?;
    let flags = MountFlags::NODEV | MountFlags::NOSUID;
    rustix::mount::mount("overlay", root, "overlay", flags, options.as_c_str()).map_err(|errno| match errno {
        Errno::PERM => refused("this needs root (CAP_SYS_ADMIN)".to_owned()),
        Errno::NODEV => refused("this kernel has no overlayfs".to_owned()),
        Errno::INVAL => refused(format!(
            "`{}` is on a file system that cannot hold the layer",
            upper.display()
        )),
        other => refused(other.to_string()),
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn mount(source: &Path, _layers: &Path, _root: &Path) -> Result<(), WorkspaceError> {
    Err(WorkspaceError::Overlay {
        path: source.to_owned(),
        reason: "only Linux has overlayfs".to_owned(),
    })
}

/// Unmounts every overlay at `root`, including those of a killed run.
#[cfg(target_os = "linux")]
pub(super) fn unmount(root: &Path) -> Result<(), WorkspaceError> {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use rustix::mount::UnmountFlags;

    let device = |path: &Path| fs::symlink_metadata(path).ok().map(|meta| meta.dev());
    while let (Some(own), Some(around)) = (device(root), root.parent().and_then(device)) {
        if own == around {
            break;
        }
        rustix::mount::unmount(root, UnmountFlags::DETACH)
            .map_err(|errno| WorkspaceError::io("unmount", root, errno.into()))?;
    }
    Ok(())
}

/// Other systems have no overlays.
#[cfg(not(target_os = "linux"))]
pub(super) fn unmount(_root: &Path) -> Result<(), WorkspaceError> {
    Ok(())
}
