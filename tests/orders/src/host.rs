//! The host's own files on the shim, and stand-ins for those they call that have no
//! threads and tasks of their own: the map, the walk, the sandbox.

macro_rules! of_the_host {
    ($name:ident, $file:literal) => {
        #[allow(
            dead_code,
            unused_imports,
            unused_parens,
            unreachable_pub,
            missing_docs,
            clippy::all,
            clippy::allow_attributes_without_reason,
            reason = "the host's own, and checked there; not all of it is used here"
        )]
        pub mod $name {
            include!(concat!(env!("OUT_DIR"), "/", $file));
        }
    };
}

of_the_host!(agent, "agent.rs");
of_the_host!(call, "call.rs");
of_the_host!(caller, "caller.rs");
of_the_host!(code, "code.rs");
of_the_host!(gates, "gates.rs");
of_the_host!(guesses, "guesses.rs");
of_the_host!(hex, "hex.rs");
of_the_host!(limits, "limits.rs");
of_the_host!(loader, "loader.rs");
of_the_host!(lazy, "sandbox_lazy.rs");
of_the_host!(threads, "threads.rs");
of_the_host!(ticket, "ticket.rs");
of_the_host!(watch, "watch.rs");

pub use caller::Caller;
pub use code::Code;

pub use grant::Grant;

pub mod grant {
    //! The permission to read one file.

    use std::marker::PhantomData;

    /// The directory of the tests' files.
    #[derive(Debug)]
    pub struct Directory;

    #[derive(Debug)]
    pub struct Grant<D = Directory> {
        pub name: String,
        pub directory: PhantomData<D>,
    }
}

pub mod map {
    //! A map that is a table. A test may change an entry while calls are under way.

    use super::{Code, Grant, agent::AgentName, walk::Trail};
    use std::{
        collections::HashMap,
        path::{Path, PathBuf},
        sync::{Arc, Mutex},
    };

    of_the_host!(key, "map_key.rs");
    of_the_host!(source, "map_source.rs");

    pub use key::Key;
    pub use source::{MapSource, Maps};

    #[derive(Clone, Debug)]
    pub struct Entry(PathBuf);

    impl Entry {
        pub fn path(&self) -> &Path {
            &self.0
        }
    }

    #[derive(Clone, Debug, Default)]
    pub struct Map(HashMap<Key, Entry>);

    impl Map {
        pub fn find_for(&self, key: &Key, _: Option<&AgentName>) -> Option<Entry> {
            self.0.get(key).cloned()
        }

        pub fn binding(&self, _: &str) -> Option<Binding> {
            None
        }
    }

    /// Not used either.
    pub type BindingName = Arc<str>;

    pub struct Binding;

    impl Binding {
        pub fn key(&self, _: &Map) -> Result<Key, Code> {
            Err(Code::UnknownKey)
        }
    }

    pub struct MapError;

    impl MapError {
        pub fn code(&self) -> Code {
            Code::MapInvalid
        }
    }

    #[derive(Debug, Default)]
    pub struct LiveMap(Mutex<Arc<Map>>);

    impl LiveMap {
        /// Maps `key` to `file` from now on.
        pub fn write(&self, key: &str, file: &str) {
            let mut map = self.0.lock().unwrap();
            let mut new = Map::clone(&map);
            new.0
                .insert(Key::try_from(key).unwrap(), Entry(file.into()));
            *map = Arc::new(new);
        }

        pub fn read_ahead(&self) {
            drop(self.current_and_trail());
        }

        pub fn use_threads(&self) {}

        pub fn current_and_trail(&self) -> Result<(Arc<Map>, Option<Trail>), MapError> {
            crate::shim::others_first();
            Ok((Arc::clone(&self.0.lock().unwrap()), None))
        }
    }

    /// Not used: it does nothing that another thread or task could see.
    #[derive(Debug)]
    pub struct FrozenMap(Arc<Map>);

    impl FrozenMap {
        pub fn map(&self) -> &Arc<Map> {
            &self.0
        }

        pub fn bound(&self, _: &BindingName) -> Option<&Key> {
            None
        }

        pub fn resolve(&self, entry: &Entry) -> Result<Grant, Code> {
            resolve_along(&self.0, None, entry)
        }
    }

    pub fn resolve_along(_: &Map, _: Option<&Trail>, entry: &Entry) -> Result<Grant, Code> {
        crate::shim::others_first();
        Ok(Grant {
            name: entry.0.to_str().unwrap().to_owned(),
            directory: std::marker::PhantomData,
        })
    }
}

pub mod sandbox {
    //! The trait of what runs a call. See `crate::guest`.

    use super::{
        Code,
        grant::{Directory, Grant},
    };
    use std::time::Instant;

    pub trait Executor<D = Directory>: Send + Sync + 'static {
        fn call(
            &self,
            key: &str,
            grant: Option<Grant<D>>,
            deadline: Instant,
        ) -> Result<String, Code>;
        fn interrupt(&self);
        fn tidy(&self) {}
    }

    /// The host's default, which no test uses.
    #[derive(Debug)]
    pub struct Sandbox;
}

pub mod engine {
    //! What a limit consists of.
    pub const MAX_MEMORY: usize = 16 << 20;
}

pub mod walk {
    //! The way to the plugin's data folder, which is the test's own.

    use rustix::fs::{Mode, OFlags, open};
    use std::{fs::File, os::fd::OwnedFd, path::Path};

    pub struct System;
    pub struct Policy;
    pub struct Walker;
    /// The path to a map, which does not exist here.
    pub struct Trail;
    pub struct Found {
        pub handle: OwnedFd,
    }

    #[allow(dead_code, reason = "the host's own are all matched")]
    pub enum WalkError {
        Untrusted(()),
        Missing,
        Denied,
        Other,
    }

    impl Policy {
        pub const TRUSTED_DIRECTORY: Self = Self;
    }

    impl Walker {
        pub fn new(_: System) -> Self {
            Self
        }

        pub fn walk(&self, path: &Path, _: Policy) -> Result<Found, WalkError> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let handle = open(path, flags, Mode::empty()).map_err(|_| WalkError::Missing)?;
            Ok(Found { handle })
        }
    }

    pub fn into_file(handle: OwnedFd) -> Option<File> {
        Some(File::from(handle))
    }
}

pub mod mcp {
    //! The protocol's transport. `crate::requests` answers the requests.

    of_the_host!(pending, "mcp_pending.rs");
    of_the_host!(escape, "mcp_escape.rs");
    of_the_host!(json, "mcp_json.rs");
    of_the_host!(line, "mcp_line.rs");
    of_the_host!(message, "mcp_message.rs");
    of_the_host!(refusals, "mcp_refusals.rs");
    of_the_host!(transport, "mcp_transport.rs");

    pub mod service;

    use std::io;

    /// The reason why a session did not end in order.
    #[derive(Debug)]
    #[allow(dead_code, reason = "shown when a test fails")]
    pub enum SessionError {
        Input(io::Error),
        Output(io::Error),
    }
}
