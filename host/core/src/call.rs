//! One call, from the key to the text: who calls, what the map says, the grant, the guest.

use crate::{
    caller::Caller,
    code::Code,
    grant::Executor,
    guesses::Guess,
    map::{BindingName, Key, Maps},
};
use std::time::Instant;

/// What a call asks for.
#[derive(Clone, Debug)]
pub enum Target {
    /// The file of this key. The key comes from the caller, and may be anything.
    Key(String),
    /// The file of the binding of this name. The name comes from the operator.
    Bound(BindingName),
    /// The file of this key. The key comes from the operator.
    Given(Key),
    /// The file of the one entry that names the caller in its `agents`. Nobody gave a key.
    OfCaller,
}

/// What a call is made of.
#[derive(Debug)]
pub struct Call {
    /// What it asks for.
    pub target: Target,
    /// Who makes it.
    pub caller: Caller,
    /// The permit to look up a key that could be guessed.
    pub(crate) guess: Option<Guess>,
    /// When it must have ended.
    pub deadline: Instant,
}

impl Call {
    /// A call that needs no permit for its key.
    pub fn new(target: Target, caller: Caller, deadline: Instant) -> Self {
        Self {
            target,
            caller,
            guess: None,
            deadline,
        }
    }

    /// Makes the call, on a thread that may block.
    ///
    /// # Errors
    /// Each [`Code`]; the first that applies, in the order of this function.
    pub fn run<M: Maps>(
        self,
        maps: &M,
        guest: &impl Executor<Directory = M::Directory>,
    ) -> Result<String, Code> {
        if Instant::now() >= self.deadline {
            return Err(Code::TimedOut);
        }
        // This comes first: a caller that is not verified learns nothing, not even
        // about the map.
        let (agent, ticketed) = self.caller.verify()?;
        let map = maps.map_now(self.deadline)?;
        let (key, text) = match (self.target, ticketed) {
            // What the guard judged, whatever was sent.
            (Target::Key(_), Some(key)) => of_key(key),
            (Target::Key(text), None) => (Key::try_from(&*text).ok(), text),
            (Target::Bound(name), _) => of_key(maps.bound(&map, &name, self.deadline)?),
            (Target::Given(key), _) => of_key(key),
            (Target::OfCaller, _) => {
                let key = agent.as_ref().and_then(|agent| map.only_key_of(agent));
                of_key(key.ok_or(Code::UnknownKey)?.clone())
            }
        };
        let entry = key
            .as_ref()
            .and_then(|key| Some((key, map.find_for(key, agent.as_ref())?)));
        match (self.guess, entry) {
            (Some(guess), None) => guess.was_wrong(),
            // The key was right, or it needed no permit. A permit is returned here.
            (guess, _) => drop(guess),
        }
        // Without an entry there is no grant, and the guest refuses. So a wrong key, and a
        // key that is bound to other agents, takes the same path as a right one.
        let grant = entry
            .map(|(_, entry)| maps.resolve(&map, entry, self.deadline))
            .transpose()?;
        guest.run(&text, grant, self.deadline)
    }
}

fn of_key(key: Key) -> (Option<Key>, String) {
    let text = key.expose().to_owned();
    (Some(key), text)
}
