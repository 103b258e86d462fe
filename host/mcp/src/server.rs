//! What the server answers. Only requests that `message.rs` lets through arrive here.

use super::{
    message::CALL_ID,
    pending::PendingRequests,
    tool::{self, Surface},
};
use keyhole_core::{Caller, Content, Load, Refusal, Target, limits::is_too_long_for_claude};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
        InitializeRequestParams, InitializeResult, ListToolsResult, MetaObject,
        PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, object,
    },
    service::RequestContext,
};
use serde_json::{Value, json, value::RawValue};
use std::{borrow::Cow, sync::Arc};

const NAME: &str = "keyhole";
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) struct Server<L> {
    pub(super) loader: Arc<L>,
    /// What the server was started with: see [`Caller::of_call`].
    pub(super) callers: Caller,
    pub(super) surface: Surface,
    pub(super) pending: PendingRequests,
}

impl<L: Load> Server<L> {
    /// Makes one call, and returns the file's text or the refusal. The call keeps its permit to run
    /// until its answer is written. A text that is too long for Claude Code is refused only if
    /// Claude Code calls. A call that is cancelled is refused, and the refusal is never sent.
    async fn load(&self, target: Target, context: &RequestContext<RoleServer>) -> CallToolResult {
        let id = context.meta.get(CALL_ID).and_then(Value::as_str);
        let caller = self.callers.of_call(id);
        let loaded = tokio::select! {
            biased;
            // The transport drops answers to cancelled requests.
            () = context.ct.cancelled() => Err(Refusal::Internal),
            loaded = self.loader.load(target, caller) => loaded,
        };
        match loaded {
            // Only Claude Code sends an id of the call beside that of the request.
            Ok(Content { text, .. }) if id.is_some() && is_too_long_for_claude(&text) => {
                tool::refused(Refusal::TooLarge)
            }
            Ok(Content { text, permit }) => {
                self.pending.keep(&context.id, permit);
                CallToolResult::success(vec![ContentBlock::text(text)])
            }
            Err(code) => tool::refused(code),
        }
    }
}

/// Who answers, for the `_meta` of a result. Protocol 2026-07-28 wants it in every result; the
/// versions with `initialize` say it there, so it is None for these.
fn server_info(context: &RequestContext<RoleServer>) -> Option<MetaObject> {
    if context.protocol_version()?.has_initialize() {
        return None;
    }
    let server = json!({ "name": NAME, "version": VERSION });
    let meta = json!({ "io.modelcontextprotocol/serverInfo": server });
    Some(MetaObject(object(meta)))
}

impl<L: Load> ServerHandler for Server<L> {
    /// Sends no `instructions`: clients show them to every agent.
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(NAME, VERSION))
    }

    /// All but 2025-03-26, by which a server must take batches.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&[
            ProtocolVersion::V_2024_11_05,
            ProtocolVersion::V_2025_06_18,
            ProtocolVersion::V_2025_11_25,
            ProtocolVersion::V_2026_07_28,
        ])
    }

    /// rmcp would keep the version that was asked for, and not the one that is agreed to.
    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let answer = self.negotiate_initialize(&request)?;
        request.protocol_version = answer.protocol_version.clone();
        context.peer.set_peer_info(request);
        Ok(answer)
    }

    /// One page, so no cursor leads to another.
    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools = ListToolsResult::with_all_items(vec![self.surface.tool.clone()]);
        tools.meta = server_info(&context);
        Ok(tools)
    }

    /// Answers a call of the tool `load_context`: with the file's text, with a refusal, or if the
    /// arguments are wrong, with an error that the model sees.
    ///
    /// # Errors
    /// An error of the protocol for a tool of another name.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != tool::NAME {
            return Err(ErrorData::invalid_params("unknown tool", None));
        }
        // `message.rs` has put the arguments into the extensions, as they were written.
        let written = context.extensions.get::<Box<RawValue>>();
        let arguments = written.map_or("{}", |arguments| arguments.get());
        let mut result = match self.surface.parse_arguments(arguments) {
            Ok(target) => self.load(target, &context).await,
            Err(advice) => tool::error(advice),
        };
        result.meta = server_info(&context);
        Ok(result.into())
    }
}
