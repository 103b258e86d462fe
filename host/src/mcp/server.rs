//! What the server answers. Only requests that `message.rs` lets through arrive
//! here.

use super::{pending::Call, surface::Surface, tool};
use crate::{
    Caller, Callers, Code, Loader,
    loader::{Maps, Target},
    sandbox::Executor,
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode,
        Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
};
use serde_json::Value;
use std::sync::Arc;

/// The field of `_meta` in which Claude Code sends its id of a call. Its hooks get
/// the same id. The calling model cannot choose it.
const CALL_ID: &str = "claudecode/toolUseId";

/// The source of documents; [`Loader`] outside tests.
pub(super) trait Load: Send + Sync + 'static {
    /// Loads the document that `caller` asks for. Dropping the future abandons the
    /// call.
    fn load(
        &self,
        target: Target,
        caller: &Caller,
    ) -> impl Future<Output = Result<Loaded, Code>> + Send;
}

/// A document, and the permit that must be kept until the answer is written.
pub(super) struct Loaded {
    pub(super) text: String,
    pub(super) call_permit: Box<dyn Send>,
}

impl<M: Maps, G: Executor<M::Directory>> Load for Loader<G, M> {
    async fn load(&self, target: Target, caller: &Caller) -> Result<Loaded, Code> {
        let mut content = self.answer(target, caller).await?;
        Ok(Loaded {
            text: std::mem::take(&mut content.text),
            call_permit: Box::new(content),
        })
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
            return Err(ErrorData::invalid_params("unknown cursor", None));
        }
        Ok(ListToolsResult::with_all_items(vec![self.surface.tool()]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != tool::NAME {
            return Err(tool::unknown());
        }
        let target = self.surface.parse_arguments(request.arguments)?;
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
            Ok(Loaded { text, .. }) if id.is_some() && tool::is_too_long_for_claude(&text) => {
                tool::refusal(Code::TooLarge)
            }
            Ok(Loaded { text, call_permit }) => {
                if let Some(call) = context.extensions.get::<Call>() {
                    call.keep(call_permit);
                }
                tool::document(text)
            }
            Err(code) => tool::refusal(code),
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

/// The answer to a method that this server or this protocol version does not have.
pub(super) fn method_not_found() -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "method not found", None)
}
