//! Compressed records: a tenth of the size.

use std::io::{self, BufRead, BufReader};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

/// The first bytes of every gzip file, RFC 1952 §2.3.1. No JSON text starts with them.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads a record, compressed or not. The content decides: a pipe has no name.
pub fn decompressed(mut source: impl BufRead + 'static) -> io::Result<Box<dyn BufRead>> {
    if source.fill_buf()?.starts_with(&GZIP) {
        let decoder = MultiGzDecoder::new(source);
        return Ok(Box::new(BufReader::with_capacity(1 << 16, decoder)));
    }
    Ok(Box::new(source))
}

/// True if the file name is that of a record, compressed or not.
pub fn is_record(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn compressed(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: Vec<u8>) -> io::Result<String> {
        let mut text = String::new();
        decompressed(io::Cursor::new(bytes))?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn what_is_compressed_is_read_as_what_is_not() {
        assert_eq!(read(b"{}\n".to_vec()).unwrap(), "{}\n");
        assert_eq!(read(compressed("{}\n")).unwrap(), "{}\n");
        // gzip files may be concatenated.
        assert_eq!(read([compressed("a"), compressed("b")].concat()).unwrap(), "ab");
        assert_eq!(read(Vec::new()).unwrap(), "");
    }

    #[test]
    fn a_compressed_file_that_is_cut_short_is_an_error_and_no_shorter_record() {
        let mut bytes = compressed("{\"a\":1}\n{\"b\":2}\n");
        bytes.truncate(bytes.len() - 4);
        assert_eq!(read(bytes).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn records_are_known_by_their_names() {
        assert!(is_record(Path::new("a/run-001-ty.jsonl")) && is_record(Path::new("a/run-001-ty.jsonl.gz")));
        assert!(!is_record(Path::new("report.json")) && !is_record(Path::new("a.gz")) && !is_record(Path::new("..")));
    }
}
