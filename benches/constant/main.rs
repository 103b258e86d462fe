//! A server that answers constants: `keyhole-constant SMALL LARGE`, two files.
//!
//! It finds a request's id and method by their spelling, and sends an answer that it
//! prepared at the start. So it shows how fast the measuring client and the pipes are:
//! no server can measure faster.

use std::{
    env,
    error::Error,
    fs,
    io::{self, Read, Write},
};

const HANDSHAKE: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"constant","version":"1"}}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let mut answers = Vec::new();
    for file in env::args_os().skip(1) {
        let text = serde_json::to_string(&fs::read_to_string(file)?)?;
        answers.push(format!(
            r#"{{"content":[{{"type":"text","text":{text}}}],"isError":false}}"#
        ));
    }
    let [small, large] = &answers[..] else {
        return Err("usage: keyhole-constant SMALL LARGE".into());
    };

    let (mut stdin, mut stdout) = (io::stdin().lock(), io::stdout().lock());
    let (mut read, mut chunk, mut out) = (Vec::new(), vec![0; 64 << 10], Vec::new());
    loop {
        let got = stdin.read(&mut chunk)?;
        if got == 0 {
            return Ok(());
        }
        read.extend_from_slice(&chunk[..got]);
        let whole = read
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        for line in str::from_utf8(&read[..whole])?.lines() {
            let Some((_, id)) = line.split_once("\"id\":") else {
                continue;
            };
            let id: String = id.chars().take_while(char::is_ascii_digit).collect();
            let result = match line {
                line if line.contains("\"initialize\"") => HANDSHAKE,
                line if line.contains("k-large-") => large,
                _ => small,
            };
            writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)?;
        }
        read.drain(..whole);
        // The standard library writes up to the last newline in one call.
        stdout.write_all(&out)?;
        stdout.flush()?;
        out.clear();
    }
}
