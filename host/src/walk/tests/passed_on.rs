//! For file systems in tests: passes calls on to the real one.

/// In an `impl FileSystem`, implements each named method by asking the real system. The
/// test implements the others.
macro_rules! pass_on {
    (root) => {
        fn root(&self) -> Result<Self::Handle, $crate::walk::Fault> {
            $crate::walk::System.root()
        }
    };
    (hold) => {
        fn hold(
            &self,
            directory: &Self::Handle,
            name: &std::ffi::OsStr,
        ) -> Result<Self::Handle, $crate::walk::Fault> {
            $crate::walk::System.hold(directory, name)
        }
    };
    (open) => {
        fn open(
            &self,
            directory: &Self::Handle,
            name: &std::ffi::OsStr,
        ) -> Result<Self::Handle, $crate::walk::Fault> {
            $crate::walk::System.open(directory, name)
        }
    };
    (stat) => {
        fn stat(
            &self,
            handle: &Self::Handle,
        ) -> Result<$crate::walk::Stat, $crate::walk::Fault> {
            $crate::walk::System.stat(handle)
        }
    };
    (read_link) => {
        fn read_link(
            &self,
            link: &Self::Handle,
            at: &Self::Handle,
            name: &std::ffi::OsStr,
        ) -> Result<std::ffi::OsString, $crate::walk::Fault> {
            $crate::walk::System.read_link(link, at, name)
        }
    };
    (mount) => {
        fn mount(
            &self,
            handle: &Self::Handle,
            stat: &$crate::walk::Stat,
        ) -> Result<$crate::walk::Mount, $crate::walk::Fault> {
            $crate::walk::System.mount(handle, stat)
        }
    };
    (has_hidden_writers) => {
        fn has_hidden_writers(
            &self,
            handle: &Self::Handle,
            stat: &$crate::walk::Stat,
        ) -> Result<bool, $crate::walk::Fault> {
            $crate::walk::System.has_hidden_writers(handle, stat)
        }
    };
    (read) => {
        fn read(
            &self,
            file: &Self::Handle,
            bytes: &mut [u8],
            offset: u64,
        ) -> Result<usize, $crate::walk::Fault> {
            $crate::walk::System.read(file, bytes, offset)
        }
    };
    (settle) => {
        fn settle(&self, file: &Self::Handle) {
            $crate::walk::System.settle(file);
        }
    };
    (user) => {
        fn user(&self) -> u32 {
            $crate::walk::System.user()
        }
    };
    (now) => {
        fn now(&self) -> std::time::SystemTime {
            $crate::walk::System.now()
        }
    };
    (pause) => {
        fn pause(&self, time: std::time::Duration) {
            $crate::walk::System.pause(time);
        }
    };
    ($($method:ident),+) => {
        $($crate::walk::tests::passed_on::pass_on!($method);)+
    };
}

pub(crate) use pass_on;
