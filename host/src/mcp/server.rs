//! What the server answers. The requests that arrive here are those that
//! `message.rs` lets through.

use super::{flight::Call, surface::Surface, tool};
use crate::{
    Caller, Callers, Code, Loader,
    loader::{Asked, Maps},
    sandbox::Guest,
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

/// Where Claude Code puts its id of a call, in `_meta`. Its hooks get the same
/// id; the model that calls has no say in it.
const CALL_ID: &str = "claudecode/toolUseId";

/// The source of documents; [`Loader`] outside tests.
pub(super) trait Load: Send + Sync + 'static {
    /// The document that is asked for, for `caller`. Dropping the future gives the
    /// call up.
    fn load(
        &self,
        asked: Asked,
        caller: &Caller,
    ) -> impl Future<Output = Result<Loaded, Code>> + Send;
}

/// A document, and what has to be kept until the answer is written.
pub(super) struct Loaded {
    pub(super) text: String,
    pub(super) place: Box<dyn Send>,
}

impl<M: Maps, G: Guest<M::Directory>> Load for Loader<G, M> {
    async fn load(&self, asked: Asked, caller: &Caller) -> Result<Loaded, Code> {
        let mut content = self.answer(asked, caller).await?;
        Ok(Loaded {
            text: std::mem::take(&mut content.text),
            place: Box::new(content),
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
    /// No `instructions`: clients show them to every agent, not to the one that
    /// holds a key.
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build()).with_server_info(
            Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
        )
    }

    /// One page. We never hand out a cursor, so none can be right.
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
        let asked = self.surface.asked(request.arguments)?;
        let id = context.meta.get(CALL_ID).and_then(Value::as_str);
        let caller = self.callers.of_call(id);
        let loaded = tokio::select! {
            biased;
            // The transport lets no answer to a cancelled request out.
            () = context.ct.cancelled() => Err(Code::Internal),
            loaded = self.loader.load(asked, &caller) => loaded,
        };
        Ok(match loaded {
            // Only Claude Code sends an id of its own.
            Ok(Loaded { text, .. }) if id.is_some() && tool::is_too_long_for_claude(&text) => {
                tool::refusal(Code::TooLarge)
            }
            Ok(Loaded { text, place }) => {
                if let Some(call) = context.extensions.get::<Call>() {
                    call.keep(place);
                }
                tool::document(text)
            }
            Err(code) => tool::refusal(code),
        }
        .into())
    }

    /// Every method that we do not serve ends here.
    async fn on_custom_request(
        &self,
        _: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(method_not_found())
    }
}

/// The answer to a method that this server or this protocol version lacks.
pub(super) fn method_not_found() -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "method not found", None)
}
