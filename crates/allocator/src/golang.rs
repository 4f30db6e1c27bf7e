//! Reads the release of Go from the build information in a program.

/// The beginning of the build information.
pub const MAGIC: &[u8] = b"\xff Go buildinf:";

/// The offset of the release from the beginning of the magic, since Go 1.18: a length and the text.
const RELEASE: usize = 32;

/// Bytes from the beginning of the magic that are enough for [`release`].
pub const ENOUGH: usize = RELEASE + 64;

/// `1.25.1`, from the bytes that begin with the magic.
pub fn release(bytes: &[u8]) -> Option<String> {
    let flags = bytes.get(MAGIC.len() + 1)?;
    if !bytes.starts_with(MAGIC) || flags & 2 == 0 {
        return None;
    }
    let length = usize::from(*bytes.get(RELEASE)?);
    let text = bytes.get(RELEASE + 1..RELEASE + 1 + length)?;
    let text = std::str::from_utf8(text).ok()?;
    text.strip_prefix("go").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_follows_the_magic() {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([8, 2]);
        bytes.resize(RELEASE, 0);
        bytes.extend([8]);
        bytes.extend(b"go1.25.1and more");
        assert_eq!(release(&bytes).as_deref(), Some("1.25.1"));
        bytes[MAGIC.len() + 1] = 0;
        assert_eq!(release(&bytes), None, "before Go 1.18 it is a pointer");
        assert_eq!(release(MAGIC), None);
    }
}
