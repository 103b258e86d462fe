//! A row of clients.toml that does not parse fails the build.

#[expect(dead_code, unreachable_pub, reason = "only the parser is of use here")]
#[path = "src/clients.rs"]
mod clients;

fn main() -> Result<(), String> {
    clients::clients_in(clients::ALL, clients::EXAMPLES).map(drop)
}
