//! The two protocols that clients speak.

use serde_json::{Value, json};

/// A version of the Model Context Protocol. One program serves both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// 2025-11-25: a session that begins with `initialize`.
    Initialize,
    /// 2026-07-28: no session; each request names its version, and
    /// `server/discover` asks what the server offers.
    Discover,
}

impl Protocol {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Initialize, Self::Discover];

    /// The version, as it is on the wire.
    #[must_use]
    pub const fn version(self) -> &'static str {
        match self {
            Self::Initialize => "2025-11-25",
            Self::Discover => "2026-07-28",
        }
    }

    /// `params` as this protocol wants them: with `_meta` if that carries the version.
    /// Existing fields stay.
    #[must_use]
    pub fn params(self, mut params: Value) -> Value {
        if self == Self::Discover
            && let Some(params) = params.as_object_mut()
        {
            let meta = params.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                let version = "io.modelcontextprotocol/protocolVersion";
                meta.entry(version).or_insert_with(|| self.version().into());
                let capabilities = "io.modelcontextprotocol/clientCapabilities";
                meta.entry(capabilities).or_insert_with(|| json!({}));
            }
        }
        params
    }

    /// The params of `initialize` in a session of this version.
    #[must_use]
    pub fn hello(version: &str) -> Value {
        json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": { "name": "keyhole-tests", "version": "0" },
        })
    }

    /// What a client of the older one sends in a short session: its lines.
    #[must_use]
    pub fn session(requests: &[Value]) -> String {
        let hello = Self::hello(Self::Initialize.version());
        let begins = [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        ];
        let lines = begins.iter().chain(requests);
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// A call of the tool with `key`, as this protocol's clients send it.
    #[must_use]
    pub fn call(self, id: impl Into<Value>, key: &str) -> Value {
        let params = json!({ "name": "load_context", "arguments": { "key": key } });
        json!({
            "jsonrpc": "2.0", "id": id.into(), "method": "tools/call",
            "params": self.params(params),
        })
    }
}
