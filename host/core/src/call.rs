//! One call, from the key to the text: who calls, what the map says, the grant, the guest.

use crate::{
    caller::{Caller, Verified},
    grant::Executor,
    map::{BindingName, Entry, Key, Map, Maps},
    refusal::Refusal,
};
use std::time::Instant;

/// What a call asks for.
#[derive(Clone, Debug)]
pub enum Target {
    /// The file of this key, which the caller sends with the call. The text may be anything.
    SentKey(String),
    /// The file of the binding of this name, which the operator gave at the start.
    Bound(BindingName),
    /// The file of this key, which the operator gave at the start.
    OperatorsKey(Key),
    /// The file of the one entry that names the caller in its `agents`: nobody gave a key.
    OfCaller,
}

/// What a call asks for, as the map has it.
struct Asked<'m> {
    /// What the guest is asked for: a key, or the name of a binding.
    text: String,
    /// Its entry, whoever may have the file. None if the map has no entry for it.
    entry: Option<&'m Entry>,
}

impl<'m> Asked<'m> {
    /// The key or binding that `caller` gets in `map` by asking for `target`. If the map has no
    /// such key or binding, its `entry` is None.
    ///
    /// A ticket's key counts only for a key that the model has sent. A binding, and a key that the
    /// operator gave when they started the server ([`Target::OperatorsKey`]), are the server's own.
    ///
    /// # Errors
    /// [`Refusal::UnknownKey`] for [`Target::OfCaller`], if nobody knows which agent calls, or if
    /// the agent is named in no entry of the map, or in more than one.
    fn find(target: Target, caller: &Verified, map: &'m Map) -> Result<Self, Refusal> {
        match (target, &caller.ticket_key) {
            (Target::Bound(name), _) => Ok(Self {
                text: name.to_string(),
                entry: map.binding(&name).map(|binding| &binding.entry),
            }),
            (Target::OperatorsKey(key), _) => Ok(Self::of(&key, map)),
            (Target::OfCaller, _) => {
                let agent = caller.agent.as_ref().ok_or(Refusal::UnknownKey)?;
                let key = map.only_key_of(agent).ok_or(Refusal::UnknownKey)?;
                Ok(Self::of(key, map))
            }
            // The client's hook judged the key in the ticket before this call. So that key counts,
            // whatever was sent.
            (Target::SentKey(_), Some(judged)) => Ok(Self::of(judged, map)),
            (Target::SentKey(text), None) => match Key::try_from(&*text) {
                Ok(key) => Ok(Self::of(&key, map)),
                // No map can have this text as a key.
                Err(_) => Ok(Self { text, entry: None }),
            },
        }
    }

    /// This key, which the map may have or not.
    fn of(key: &Key, map: &'m Map) -> Self {
        Self {
            text: key.expose().to_owned(),
            entry: map.find(key),
        }
    }
}

/// Makes one call: the text of the file that `caller` gets by asking for `target`. It must have
/// ended at `deadline`, and runs on a thread that may block.
///
/// # Errors
/// The first [`Refusal`] that applies, in the order of the lines below.
pub fn call<M: Maps>(
    target: Target,
    caller: &Caller,
    deadline: Instant,
    maps: &M,
    guest: &impl Executor<Directory = M::Directory>,
) -> Result<String, Refusal> {
    if Instant::now() >= deadline {
        return Err(Refusal::TimedOut);
    }
    // This comes first: a caller that is not verified learns nothing, not even about the map.
    let verified = caller.verify()?;
    let map = maps.map_now(deadline)?;
    let asked = Asked::find(target, &verified, &map)?;
    let agent = verified.agent.as_ref();
    // Without an entry there is no grant. The guest refuses, on the same path as for a right key.
    let grant = match asked.entry.filter(|entry| entry.is_for(agent)) {
        Some(entry) => Some(maps.resolve(&map, entry, deadline)?),
        None => None,
    };
    guest.run(&asked.text, grant, deadline)
}
