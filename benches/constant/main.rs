//! A server that answers constants: `keyhole-constant SMALL LARGE`, two files.
//!
//! It finds a request's id and method by their spelling, and sends an answer that it
//! prepared at the start. So it shows how fast the measuring client and the pipes are:
//! no server can measure faster.

use std::{
    env,
    error::Error,
    fs,
    io::{self, BufRead as _, Write as _},
};

const HANDSHAKE: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"constant","version":"1"}}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let answers: Result<Vec<_>, io::Error> = env::args_os()
        .skip(1)
        .map(|file| {
            let text = serde_json::to_string(&fs::read_to_string(file)?)?;
            Ok(format!(
                r#"{{"content":[{{"type":"text","text":{text}}}],"isError":false}}"#
            ))
        })
        .collect();
    let [small, large] = &answers?[..] else {
        return Err("usage: keyhole-constant SMALL LARGE".into());
    };

    let mut stdin = io::BufReader::with_capacity(64 << 10, io::stdin().lock());
    let (mut stdout, mut line, mut out) = (io::stdout().lock(), String::new(), Vec::new());
    while stdin.read_line(&mut line)? > 0 {
        if let Some((_, id)) = line.split_once("\"id\":") {
            let id: String = id.chars().take_while(char::is_ascii_digit).collect();
            let result = match &line {
                line if line.contains("\"initialize\"") => HANDSHAKE,
                line if line.contains("k-large-") => large,
                _ => small,
            };
            writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)?;
        }
        line.clear();
        // All that has come is answered in one call.
        if stdin.buffer().is_empty() {
            stdout.write_all(&out)?;
            stdout.flush()?;
            out.clear();
        }
    }
    Ok(())
}
