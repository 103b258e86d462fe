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
    /// The file of this key, which the model sends with the call. The text may be anything.
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
    /// What `caller` asks for, and its entry in `map`. The entry is None if the map has none.
    ///
    /// - [`Target::Bound`]: the binding of this name.
    /// - [`Target::OperatorsKey`]: this key.
    /// - [`Target::OfCaller`]: the key of the one entry that names the caller's agent.
    /// - [`Target::SentKey`]: the key in the caller's ticket, if there is one. Else the sent text,
    ///   if it can be a key; `two words` cannot, so it has no entry.
    ///
    /// # Errors
    /// [`Refusal::UnknownKey`] for [`Target::OfCaller`], if nobody knows which agent calls, or if
    /// no entry names the agent, or more than one does.
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
            // The client's hook judged this key before the call. So it counts, whatever was sent.
            (Target::SentKey(_), Some(judged)) => Ok(Self::of(judged, map)),
            (Target::SentKey(text), None) => match Key::try_from(&*text) {
                Ok(key) => Ok(Self::of(&key, map)),
                Err(_) => Ok(Self { text, entry: None }),
            },
        }
    }

    /// This key, and its entry in `map`. The entry is None if the map does not have the key.
    fn of(key: &Key, map: &'m Map) -> Self {
        Self {
            text: key.expose().to_owned(),
            entry: map.find(key),
        }
    }
}

/// Makes one call: returns the text of the file that `caller` gets by asking for `target`. This may
/// block, so it runs on a thread of its own.
///
/// # Errors
/// The first of these that applies: [`Refusal::TimedOut`] if the call begins after `deadline`; why
/// the caller is not verified; why there is no map; why nothing was asked for
/// ([`Refusal::UnknownKey`] of [`Target::OfCaller`]); why the file of the entry must not be read;
/// and what the guest refuses. The guest refuses with [`Refusal::UnknownKey`] if the map has no
/// entry for what was asked, or has one for other agents only.
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
    // This comes before the map: a caller that is not verified learns nothing about the map.
    let verified = caller.verify()?;
    let map = maps.map_now(deadline)?;
    let asked = Asked::find(target, &verified, &map)?;
    let agent = verified.agent.as_ref();
    // Without a grant, the guest still runs, and refuses: so a wrong key takes the same path as a
    // right one.
    let grant = match asked.entry.filter(|entry| entry.is_for(agent)) {
        Some(entry) => Some(maps.resolve(&map, entry, deadline)?),
        None => None,
    };
    guest.run(&asked.text, grant, deadline)
}
