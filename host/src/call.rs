//! One call: what it asks for, what it holds, and how far it got.

use crate::{
    agent::AgentName,
    caller::Caller,
    code::Code,
    gates::{GateId, Gates, Pass},
    guesses::Guess,
    map::{BindingName, Key},
};
use tokio::sync::OwnedSemaphorePermit;
use zeroize::Zeroizing;

/// What a call asks for.
pub enum Target {
    /// The file of this key. The key comes from the caller, and may be anything.
    Key(Zeroizing<String>),
    /// The file of the binding of this name. The name comes from the operator.
    Bound(BindingName),
    /// The file of this key. The key comes from the operator.
    Given(Key),
}

impl Target {
    /// Its gate. All keys take the same path here, whether valid or not, known or
    /// not.
    pub(crate) fn gate_id(&self, gates: &Gates) -> GateId {
        match self {
            Self::Key(key) => gates.id_of(("key", key.as_str())),
            Self::Bound(name) => gates.id_of(("binding", &**name)),
            Self::Given(key) => gates.id_of(("given", key.expose())),
        }
    }
}

/// One call, both while it waits and while it runs on a thread.
pub(crate) struct Call {
    pub(crate) target: Target,
    pub(crate) caller: Caller,
    /// The agent that calls. The outer None means that it is not known yet. It is
    /// kept because a ticket can be redeemed only once.
    pub(crate) agent: Option<Option<AgentName>>,
    /// The permit to look up a guessable key, if the call has waited for one.
    pub(crate) guess: Option<Guess>,
    /// The permit to read this file, once the file is known.
    pub(crate) file: Option<(GateId, Pass)>,
    /// The permit of the gate for what is asked for.
    _key_pass: Pass,
}

impl Call {
    /// A call that has entered the gate for its target, and no more.
    pub(crate) fn new(target: Target, caller: Caller, key_pass: Pass) -> Self {
        Self {
            target,
            caller,
            agent: None,
            guess: None,
            file: None,
            _key_pass: key_pass,
        }
    }
}

/// How far a call got on its thread. `T` is what it got: a text, and later the
/// [`Content`], which also holds the call's permit.
pub(crate) enum Outcome<T> {
    Done(Result<T, Code>),
    /// It has to wait, without a thread, and then start again.
    Wait(Box<Call>, Wait),
}

/// What a call has to wait for.
pub(crate) enum Wait {
    /// As many calls as allowed read its file now. Several keys can stand for one
    /// file.
    File(GateId),
    /// Its key is guessable, and too many guessable keys were wrong.
    Guess,
}

/// What a call gets: the file, and the call's permit, which is returned when this
/// is dropped. Keep it until the answer is written.
#[derive(Debug)]
pub struct Content {
    /// The whole file, unchanged.
    pub text: String,
    pub(crate) call_permit: CallPermit,
}

/// A call's permit: it counts as running until this is dropped.
#[derive(Debug)]
pub(crate) struct CallPermit(
    #[expect(dead_code, reason = "held, not read")] pub(crate) OwnedSemaphorePermit,
);
