//! What the server answers. Only requests that `message.rs` lets through arrive
//! here.

use super::{
    pending::RequestPermits,
    refusals::{method_not_found, refused, unknown_cursor, unknown_tool},
    surface::Surface,
    tool,
};
use crate::{
    call::{Content, Target},
    caller::{Caller, Callers},
    code::Code,
    loader::Loader,
    map::Maps,
    sandbox::Executor,
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, Implementation,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
};
use serde_json::Value;
use std::sync::Arc;

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
        caller: &Caller,
    ) -> impl Future<Output = Result<Content, Code>> + Send;
}

impl<M: Maps, G: Executor<M::Directory>> Load for Loader<G, M> {
    async fn load(&self, target: Target, caller: &Caller) -> Result<Content, Code> {
        self.answer(target, caller).await
    }
}

/// A server with one tool.
pub(super) struct Server<L> {
    loader: Arc<L>,
    callers: Callers,
    surface: Surface,
}

impl<L> Server<L> {
    pub(super) fn new(loader: Arc<L>, callers: Callers, surface: Surface) -> Self {
        Self {
            loader,
            callers,
            surface,
        }
    }
}

impl<L: Load> ServerHandler for Server<L> {
    /// Sends no `instructions`: clients show them to every agent, not only to the
    /// one that holds a key.
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build()).with_server_info(
            Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
        )
    }

    /// One page. We never return a cursor, so no cursor can be valid.
    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.is_some_and(|request| request.cursor.is_some()) {
            return Err(unknown_cursor());
        }
        Ok(ListToolsResult::with_all_items(vec![self.surface.tool()]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != tool::NAME {
            return Err(unknown_tool());
        }
        let target = self.surface.parse_arguments(request.arguments)?;
        // The transport gives each request its own.
        let Some(permits) = context.extensions.get::<RequestPermits>() else {
            return Ok(refused(Code::Internal).into());
        };
        let id = context.meta.get(CALL_ID).and_then(Value::as_str);
        let caller = self.callers.of_call(id);
        let loaded = tokio::select! {
            biased;
            // The transport drops answers to cancelled requests.
            () = context.ct.cancelled() => Err(Code::Internal),
            loaded = self.loader.load(target, &caller) => loaded,
        };
        Ok(match loaded {
            // Only Claude Code sends an id of its own.
            Ok(Content { text, .. }) if id.is_some() && tool::is_too_long_for_claude(&text) => {
                refused(Code::TooLarge)
            }
            Ok(Content { text, call_permit }) => {
                permits.keep(call_permit);
                tool::document(text)
            }
            Err(code) => refused(code),
        }
        .into())
    }

    /// Every request for a method that we do not serve ends here.
    async fn on_custom_request(
        &self,
        _: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(method_not_found())
    }
}
