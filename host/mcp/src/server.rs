//! What the server answers. Only requests that `message.rs` has parsed arrive here.

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
    /// Who makes the calls, as the server was started. [`Caller::of_call`] adds the id of one call.
    pub(super) callers: Caller,
    pub(super) surface: Surface,
    pub(super) pending: PendingRequests,
}

impl<L: Load> Server<L> {
    /// Makes one call for `target`, and returns the file's text or the refusal as a result of the
    /// tool. With a text, the call's permit to run is kept until the answer is written.
    ///
    /// If Claude Code calls, a text of more than 500,000 characters is refused. A cancelled call is
    /// refused too, and nobody gets that refusal.
    async fn load(&self, target: Target, context: &RequestContext<RoleServer>) -> CallToolResult {
        let id = context.meta.get(CALL_ID).and_then(Value::as_str);
        let caller = self.callers.of_call(id);
        let loaded = tokio::select! {
            biased;
            // Any refusal will do: the transport drops the answer to a cancelled request.
            () = context.ct.cancelled() => Err(Refusal::Internal),
            loaded = self.loader.load(target, caller) => loaded,
        };
        match loaded {
            // Only Claude Code sends an id of the call in `_meta`, beside the request's own id.
            Ok(Content { text, .. }) if id.is_some() && is_too_long_for_claude(&text) => {
                tool::refused(Refusal::TooLarge)
            }
            Ok(Content { text, permit }) => {
                self.pending.keep_until_written(&context.id, permit);
                CallToolResult::success(vec![ContentBlock::text(text)])
            }
            Err(code) => tool::refused(code),
        }
    }
}

/// The server's name and version, for the `_meta` of a result. Protocol 2026-07-28 wants them in
/// every result. None if the client speaks an older version, whose `initialize` returns them, or if
/// the client has not said which.
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

    /// All versions but 2025-03-26, which demands that a server takes several requests in one
    /// message.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&[
            ProtocolVersion::V_2024_11_05,
            ProtocolVersion::V_2025_06_18,
            ProtocolVersion::V_2025_11_25,
            ProtocolVersion::V_2026_07_28,
        ])
    }

    /// Agrees to a version with the client. rmcp's own method would keep, for the session, the
    /// version that the client asked for; this keeps the one that the server answers with.
    ///
    /// # Errors
    /// What rmcp's `negotiate_initialize` returns.
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

    /// The list of tools, which has one. There is one page, so the client's cursor is ignored.
    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools = ListToolsResult::with_all_items(vec![self.surface.tool.clone()]);
        tools.meta = server_info(&context);
        Ok(tools)
    }

    /// Answers a call of the tool `load_context` ([`tool::NAME`]): with the file's text, with a
    /// refusal, or if the arguments are wrong, with advice. The model sees each of these.
    ///
    /// # Errors
    /// A tool of another name: an error of the protocol, which the model may not see.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != tool::NAME {
            return Err(ErrorData::invalid_params("unknown tool", None));
        }
        // `message.rs` has put the arguments into the extensions, as they were written. A call
        // without arguments counts as one with `{}`.
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
