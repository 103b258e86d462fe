//! A row of clients.txt that does not parse fails the build.

#[expect(dead_code, unreachable_pub, reason = "only the parser is of use here")]
#[path = "src/clients.rs"]
mod clients;

fn main() -> Result<(), String> {
    clients::rows().try_for_each(|row| row.map(drop))
}
