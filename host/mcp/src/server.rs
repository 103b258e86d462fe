//! What the server answers. Only requests that `message.rs` lets through arrive
//! here.

use super::{
    pending::RequestPermits,
    refusals::{refused, unknown_cursor, unknown_tool, wrong_arguments},
    surface::Surface,
    tool,
};
use keyhole_core::{Caller, Content, Executor, Loader, Maps, Refusal, Target};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, Implementation,
        InitializeRequestParams, InitializeResult, ListToolsResult, MetaObject,
        PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use std::{borrow::Cow, sync::Arc};

/// What the server calls itself.
const NAME: &str = "keyhole";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The protocol's versions that we keep: all but 2025-03-26, by which a server must take batches.
pub(super) const VERSIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// The field of `_meta` in which Claude Code sends its id of a call. Its hooks get
/// the same id. The calling model cannot choose it.
const CALL_ID: &str = "claudecode/toolUseId";

/// The source of documents: a [`Loader`], except in tests.
pub trait Load: Send + Sync + 'static {
    /// Loads the document that `caller` asks for. Dropping the future abandons the
    /// call.
    fn load(
        &self,
        target: Target,
        caller: Caller,
    ) -> impl Future<Output = Result<Content, Refusal>> + Send;
}

impl<M: Maps, G: Executor<Directory = M::Directory>> Load for Loader<M, G> {
    async fn load(&self, target: Target, caller: Caller) -> Result<Content, Refusal> {
        Self::load(self, target, caller).await
    }
}

/// A server with one tool.
pub(super) struct Server<L> {
    pub(super) loader: Arc<L>,
    pub(super) callers: Caller,
    pub(super) surface: Surface,
}

impl<L: Load> Server<L> {
    /// The answer to a call.
    async fn load(&self, target: Target, context: &RequestContext<RoleServer>) -> CallToolResult {
        // The transport gives each request its own.
        let Some(permits) = context.extensions.get::<RequestPermits>() else {
            return refused(Refusal::Internal);
        };
        let id = context.meta.get(CALL_ID).and_then(Value::as_str);
        let caller = self.callers.of_call(id);
        let loaded = tokio::select! {
            biased;
            // The transport drops answers to cancelled requests.
            () = context.ct.cancelled() => Err(Refusal::Internal),
            loaded = self.loader.load(target, caller) => loaded,
        };
        match loaded {
            // Only Claude Code sends an id of its own.
            Ok(Content { text, .. }) if id.is_some() && tool::is_too_long_for_claude(&text) => {
                refused(Refusal::TooLarge)
            }
            Ok(Content { text, permit }) => {
                permits.keep(permit);
                tool::document(text)
            }
            Err(code) => refused(code),
        }
    }
}

/// Who answers. Protocol 2026-07-28 wants it in every result.
fn server_info(context: &RequestContext<RoleServer>) -> Option<MetaObject> {
    let version = context.protocol_version()?;
    (!version.has_initialize()).then(|| {
        MetaObject(tool::object(json!({
            "io.modelcontextprotocol/serverInfo": { "name": NAME, "version": VERSION },
        })))
    })
}

impl<L: Load> ServerHandler for Server<L> {
    /// Sends no `instructions`: clients show them to every agent, not only to the
    /// one that holds a key.
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(NAME, VERSION))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(VERSIONS)
    }

    /// A client that asks for 2025-03-26 is offered the next.
    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if request.protocol_version == ProtocolVersion::V_2025_03_26 {
            request.protocol_version = ProtocolVersion::V_2025_06_18;
        }
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    /// One page. We never return a cursor, so no cursor can be valid.
    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.is_some_and(|request| request.cursor.is_some()) {
            return Err(unknown_cursor());
        }
        let mut tools = ListToolsResult::with_all_items(vec![self.surface.tool()]);
        tools.meta = server_info(&context);
        Ok(tools)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != tool::NAME {
            return Err(unknown_tool());
        }
        let mut result = match self.surface.parse_arguments(request.arguments) {
            Ok(target) => self.load(target, &context).await,
            Err(advice) => wrong_arguments(advice),
        };
        result.meta = server_info(&context);
        Ok(result.into())
    }
}
