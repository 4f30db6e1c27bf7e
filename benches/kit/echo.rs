//! A server that answers every request at once with the same result, and a pipe that gives bytes for bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};

use serde_json::{Value, json};

/// A result of at least so many bytes: symbols as `workspace/symbol` gives them, one of them at the least.
pub fn result(bytes: usize) -> Vec<u8> {
    let mut text = vec![b'['];
    for number in 0u32.. {
        let symbol = json!({
            "name": format!("find_order_{number}"),
            "kind": 12,
            "location": {
                "uri": format!("file:///project/package/module_{}.py", number / 100),
                "range": {
                    "start": {"line": number % 1000, "character": 4},
                    "end": {"line": number % 1000, "character": 24},
                },
            },
            "containerName": "package.module",
        });
        text.extend(symbol.to_string().into_bytes());
        if text.len() + 1 >= bytes {
            break;
        }
        text.push(b',');
    }
    text.push(b']');
    text
}

/// The id of [`request`].
pub const ID: &[u8] = b"123456";

/// A request as the client sends it once ids have six digits.
pub fn request(method: &str, params: &Value) -> Vec<u8> {
    let rest = format!(r#","method":"{method}","params":{params}}}"#);
    framed(&[&b"{\"jsonrpc\":\"2.0\",\"id\":"[..], ID, rest.as_bytes()].concat())
}

/// The answer to the request whose id has that text.
pub fn answer(id: &[u8], result: &[u8]) -> Vec<u8> {
    framed(&[&b"{\"jsonrpc\":\"2.0\",\"id\":"[..], id, b",\"result\":", result, b"}"].concat())
}

/// Answers requests until stdin ends; whatever has no id is passed over.
pub fn serve(result: &[u8]) -> io::Result<()> {
    let mut stdin = BufReader::with_capacity(1 << 16, io::stdin());
    let mut stdout = stdout()?;
    let (mut line, mut body) = (String::new(), Vec::new());
    loop {
        let mut length = 0;
        loop {
            line.clear();
            if stdin.read_line(&mut line)? == 0 {
                return Ok(());
            }
            match line.trim_end().split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().map_err(io::Error::other)?;
                }
                Some(_) => {}
                None => break,
            }
        }
        body.resize(length, 0);
        stdin.read_exact(&mut body)?;
        if let Some(id) = id(&body) {
            stdout.write_all(&answer(id, result))?;
        }
    }
}

/// Gives `answer` bytes for each `request` bytes until stdin ends.
pub fn bytes(request: usize, answer: usize) -> io::Result<()> {
    let (mut asked, answered) = (vec![0; request], vec![b'x'; answer]);
    let (mut stdin, mut stdout) = (io::stdin().lock(), stdout()?);
    loop {
        match stdin.read_exact(&mut asked) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        stdout.write_all(&answered)?;
    }
}

/// The text of the id, a number or a string; the first member of that name is the message's own here.
fn id(body: &[u8]) -> Option<&[u8]> {
    let name = b"\"id\":";
    let at = body.windows(name.len()).position(|window| window == name)? + name.len();
    let text = body[at..].trim_ascii_start();
    let end = text.iter().position(|byte| matches!(byte, b',' | b'}'))?;
    Some(&text[..end])
}

/// The pipe itself: `io::stdout()` cuts what is written at the ends of lines.
#[cfg(unix)]
fn stdout() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// The pipe itself: `io::stdout()` cuts what is written at the ends of lines.
#[cfg(windows)]
fn stdout() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}

fn framed(body: &[u8]) -> Vec<u8> {
    let head = format!("Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}
