//! One call, from the key to the text: who calls, what the map says, the grant, the guest.

use crate::{
    caller::Caller,
    grant::Executor,
    map::{BindingName, Key, Maps},
    refusal::Refusal,
};
use std::time::Instant;

/// What a call asks for.
#[derive(Clone, Debug)]
pub enum Target {
    /// The file of this key. The key comes from the caller, and may be anything.
    Key(String),
    /// The file of the binding of this name. The name comes from the operator. There is no key.
    Bound(BindingName),
    /// The file of this key. The key comes from the operator.
    Given(Key),
    /// The file of the one entry that names the caller in its `agents`. Nobody gave a key.
    OfCaller,
}

/// Makes a call of `caller` that must have ended at `deadline`, on a thread that may block. The
/// first [`Refusal`] that applies, in this order, is the answer.
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
    let (agent, ticketed) = caller.verify()?;
    let map = maps.map_now(deadline)?;
    let agent = agent.as_ref();
    let of_key = |key: &Key| (key.expose().to_owned(), map.find(key));
    let (text, entry) = match (target, ticketed) {
        // It has no key: its name is what the guest asks for.
        (Target::Bound(name), _) => {
            let binding = map.binding(&name);
            (name.to_string(), binding.map(|binding| &binding.entry))
        }
        // What the guard judged, whatever was sent.
        (Target::Key(_), Some(key)) | (Target::Given(key), _) => of_key(&key),
        (Target::Key(text), None) => match Key::try_from(&*text) {
            Ok(key) => of_key(&key),
            Err(_) => (text, None),
        },
        (Target::OfCaller, _) => {
            let key = agent.and_then(|agent| map.only_key_of(agent));
            of_key(key.ok_or(Refusal::UnknownKey)?)
        }
    };
    let entry = entry.filter(|entry| entry.is_for(agent));
    // Without an entry there is no grant. The guest refuses, on the same path as for a right key.
    let grant = entry.map(|entry| maps.resolve(&map, entry, deadline));
    guest.run(&text, grant.transpose()?, deadline)
}
