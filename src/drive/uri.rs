//! Converts paths to file URIs as editors write them, and back.

use std::path::{Path, PathBuf};

pub fn from_path(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    if cfg!(windows) {
        from_windows(bytes)
    } else {
        from_unix(bytes)
    }
}

/// The path of a `file://` URI; `None` for other schemes and for invalid paths.
pub fn to_path(uri: &str) -> Option<PathBuf> {
    let bytes = if cfg!(windows) { to_windows(uri) } else { to_unix(uri) }?;
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt;
        Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
    }
    #[cfg(not(unix))]
    {
        String::from_utf8(bytes).ok().map(PathBuf::from)
    }
}

fn from_unix(path: &[u8]) -> String {
    let mut uri = "file://".to_owned();
    encode(path, &mut uri);
    uri
}

/// `C:\a` → `file:///C:/a`, `\\host\share` → `file://host/share`.
fn from_windows(path: &[u8]) -> String {
    let slashed: Vec<u8> = path
        .iter()
        .map(|&byte| if byte == b'\\' { b'/' } else { byte })
        .collect();
    let mut uri = "file:".to_owned();
    match slashed.as_slice() {
        [b'/', b'/', ..] => encode(&slashed, &mut uri),
        [drive, b':', rest @ ..] if drive.is_ascii_alphabetic() => {
            uri.push_str("///");
            uri.push(char::from(*drive));
            uri.push(':');
            encode(rest, &mut uri);
        }
        other => {
            uri.push_str("//");
            encode(other, &mut uri);
        }
    }
    uri
}

fn to_unix(uri: &str) -> Option<Vec<u8>> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if path.starts_with('/') { decode(path) } else { None }
}

fn to_windows(uri: &str) -> Option<Vec<u8>> {
    let rest = decode(uri.strip_prefix("file://")?)?;
    let path = match rest.as_slice() {
        // Editors write the drive as `/C:`, `/c:` or `/c%3A`.
        [b'/', drive, b':', ..] if drive.is_ascii_alphabetic() => rest[1..].to_vec(),
        [b'/', ..] => rest,
        _ => [b"//", rest.as_slice()].concat(),
    };
    Some(
        path.into_iter()
            .map(|byte| if byte == b'/' { b'\\' } else { byte })
            .collect(),
    )
}

/// Appends `path`; escapes everything but unreserved characters and `/`.
fn encode(path: &[u8], uri: &mut String) {
    for &byte in path {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
}

/// Decodes escapes; `None` if one is truncated, is not hexadecimal, or is a zero byte.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |at: usize| tail.get(at).and_then(|&byte| char::from(byte).to_digit(16));
        let value = digit(0)? * 16 + digit(1)?;
        bytes.push(u8::try_from(value).ok().filter(|&byte| byte != 0)?);
        rest = &tail[2..];
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_uri_cannot_hold_is_escaped() {
        for (path, uri) in [
            ("/a/b.py", "file:///a/b.py"),
            ("/a b/ü%#?.rs", "file:///a%20b/%C3%BC%25%23%3F.rs"),
            ("/x/[id]/@y+(z)~.ts", "file:///x/%5Bid%5D/%40y%2B%28z%29~.ts"),
            ("/😀", "file:///%F0%9F%98%80"),
        ] {
            assert_eq!(from_unix(path.as_bytes()), uri);
            assert_eq!(to_unix(uri).as_deref(), Some(path.as_bytes()));
        }
    }

    #[test]
    fn windows_drives_and_shares_go_both_ways() {
        for (path, uri) in [
            (r"C:\a b\c.go", "file:///C:/a%20b/c.go"),
            (r"\\host\share\ü", "file://host/share/%C3%BC"),
        ] {
            assert_eq!(from_windows(path.as_bytes()), uri);
            assert_eq!(to_windows(uri).as_deref(), Some(path.as_bytes()));
        }
        assert_eq!(to_windows("file:///c%3A/x").as_deref(), Some(&br"c:\x"[..]));
    }

    #[test]
    fn what_is_no_file_uri_has_no_path() {
        for uri in [
            "https://a/b", "file://host/b", "file:///a%2", "file:///a%zz", "file:///a%00", "untitled:1",
        ] {
            assert_eq!(to_unix(uri), None, "{uri}");
        }
        assert_eq!(to_unix("file://localhost/a").as_deref(), Some(&b"/a"[..]));
    }

    proptest! {
        #[test]
        fn every_path_comes_back_and_is_a_uri_that_others_can_read(name in "[^\0/]{1,20}") {
            prop_assume!(name != "." && name != "..");
            let path = format!("/dir/{name}");
            let uri = from_unix(path.as_bytes());
            prop_assert_eq!(to_unix(&uri), Some(path.clone().into_bytes()));
            let parsed = lsp_types::Url::parse(&uri).unwrap();
            prop_assert_eq!(parsed.as_str(), uri);
        }
    }
}
