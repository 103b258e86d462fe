//! A file system whose reads hang until the test releases them. It speaks the
//! kernel's FUSE protocol itself, as much of it as one flat directory needs.

use keyhole_walk::{Policy, System, WalkError, Walker, Why};
use rustix::{
    fs::{Mode, OFlags},
    mount::{MountFlags, UnmountFlags, mount, unmount},
};
use std::{
    ffi::CString,
    fs::File,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// The content of every file.
pub(super) const TEXT: &str = "it did not hang\n";

const ROOT: u64 = 1;

/// How many seconds the kernel may keep answers about attributes and names.
const VALID: u64 = 3600;

mod opcode {
    pub(super) const LOOKUP: u32 = 1;
    pub(super) const FORGET: u32 = 2;
    pub(super) const GETATTR: u32 = 3;
    pub(super) const OPEN: u32 = 14;
    pub(super) const READ: u32 = 15;
    pub(super) const STATFS: u32 = 17;
    pub(super) const RELEASE: u32 = 18;
    pub(super) const INIT: u32 = 26;
    pub(super) const OPENDIR: u32 = 27;
    pub(super) const RELEASEDIR: u32 = 29;
    pub(super) const INTERRUPT: u32 = 36;
    pub(super) const BATCH_FORGET: u32 = 42;
}

const ENOENT: i32 = 2;
const ENOSYS: i32 = 38;

/// A mounted file system. Any name that ends in `.md` is a file in it. Drop unmounts
/// it, and whoever waits for it gets an error.
pub(super) struct Hanging {
    at: PathBuf,
    channel: Arc<Channel>,
}

struct Channel {
    kernel: File,
    /// The reads that hang, each with the offset and length that it asks for. None
    /// means that the test has released them.
    hung: Mutex<Option<Vec<Ask>>>,
    /// Whether it answers nothing at all.
    ignores: AtomicBool,
}

#[derive(Clone, Copy)]
struct Ask {
    unique: u64,
    offset: usize,
    size: usize,
}

impl Hanging {
    /// Mounts one at `at`. Fails with the reason if this system cannot do this.
    pub(super) fn mount(at: &Path) -> Result<Self, String> {
        Self::mount_as("0,default_permissions", at)
    }

    /// The same, mounted by a user who lets all others use it, perhaps with more options.
    pub(super) fn mount_as(user: &str, at: &Path) -> Result<Self, String> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let kernel = rustix::fs::open("/dev/fuse", flags, Mode::empty())
            .map_err(|error| format!("/dev/fuse: {error}"))?;
        let kernel = File::from(kernel);
        let options = format!(
            "fd={},rootmode=40000,user_id={user},group_id=0,allow_other",
            std::os::fd::AsRawFd::as_raw_fd(&kernel)
        );
        let options = CString::new(options).unwrap();
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("hanging", at, "fuse", flags, options.as_c_str())
            .map_err(|error| format!("mount: {error}"))?;
        let channel = Arc::new(Channel {
            kernel,
            hung: Mutex::new(Some(Vec::new())),
            ignores: AtomicBool::new(false),
        });
        let hanging = Self {
            at: at.to_owned(),
            channel: Arc::clone(&channel),
        };
        thread::spawn(move || channel.serve());
        Ok(hanging)
    }

    /// From now on, it answers nothing at all, and the kernel keeps no answer of before.
    pub(super) fn ignore_all(&self) {
        self.channel.ignores.store(true, Ordering::Relaxed);
    }

    /// How many reads hang.
    pub(super) fn hung(&self) -> usize {
        self.channel
            .hung
            .lock()
            .unwrap()
            .as_ref()
            .map_or(0, Vec::len)
    }

    /// Answers the reads that hang. From now on none does.
    pub(super) fn let_go(&self) {
        let hung = self.channel.hung.lock().unwrap().take();
        for ask in hung.into_iter().flatten() {
            self.channel.read(ask);
        }
    }
}

/// A mount of overlayfs, whose files are another's.
pub(super) struct Overlay(PathBuf);

impl Overlay {
    /// Mounts at `at` what is at `lower`. Fails with the reason if this system cannot do this.
    pub(super) fn mount(lower: &Path, at: &Path) -> Result<Self, String> {
        // It wants two layers.
        let options = format!("lowerdir={}:{}", lower.display(), at.display());
        let options = CString::new(options).unwrap();
        mount(
            "overlay",
            at,
            "overlay",
            MountFlags::NODEV,
            options.as_c_str(),
        )
        .map_err(|error| format!("mount of overlayfs: {error}"))?;
        Ok(Self(at.to_owned()))
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        // This ends the connection, so that nobody waits for it any more.
        let _ = unmount(&self.at, UnmountFlags::FORCE | UnmountFlags::DETACH);
    }
}

impl Channel {
    fn serve(&self) {
        let mut request = vec![0; 1 << 20];
        while let Ok(length) = (&self.kernel).read(&mut request) {
            if !self.ignores.load(Ordering::Relaxed) {
                self.take(&request[..length]);
            }
        }
    }

    fn take(&self, request: &[u8]) {
        let (head, body) = request.split_at(40);
        let opcode = u32_at(head, 4);
        let unique = u64_at(head, 8);
        let node = u64_at(head, 16);
        match opcode {
            opcode::INIT => self.answer(unique, &init(body)),
            opcode::LOOKUP => {
                let name = body.strip_suffix(b"\0").unwrap_or(body);
                match name.ends_with(b".md") {
                    true => self.answer(unique, &entry(node_of(name))),
                    false => self.refuse(unique, ENOENT),
                }
            }
            opcode::GETATTR => self.answer(unique, &attributes(node)),
            // A handle, and `FOPEN_DIRECT_IO`: the kernel asks us for each read.
            opcode::OPEN => {
                self.answer(unique, &join(&[&7_u64.to_ne_bytes(), &1_u64.to_ne_bytes()]))
            }
            opcode::STATFS => self.answer(unique, &[0; 80]),
            opcode::OPENDIR => self.answer(unique, &[0; 16]),
            opcode::READ => {
                let ask = Ask {
                    unique,
                    offset: usize::try_from(u64_at(body, 8)).unwrap(),
                    size: u32_at(body, 16) as usize,
                };
                let mut hung = self.hung.lock().unwrap();
                match &mut *hung {
                    Some(hung) => hung.push(ask),
                    None => self.read(ask),
                }
            }
            opcode::RELEASE | opcode::RELEASEDIR => self.answer(unique, &[]),
            opcode::FORGET | opcode::BATCH_FORGET | opcode::INTERRUPT => {}
            _ => self.refuse(unique, ENOSYS),
        }
    }

    fn read(
        &self,
        Ask {
            unique,
            offset,
            size,
        }: Ask,
    ) {
        let rest = TEXT.as_bytes().get(offset..).unwrap_or_default();
        self.answer(unique, &rest[..rest.len().min(size)]);
    }

    fn answer(&self, unique: u64, body: &[u8]) {
        self.write(unique, 0, body);
    }

    fn refuse(&self, unique: u64, errno: i32) {
        self.write(unique, -errno, &[]);
    }

    /// Sends an answer. The kernel may have interrupted and dropped the request by then.
    fn write(&self, unique: u64, error: i32, body: &[u8]) {
        let length = u32::try_from(16 + body.len()).unwrap();
        let head = join(&[
            &length.to_ne_bytes(),
            &error.to_ne_bytes(),
            &unique.to_ne_bytes(),
        ]);
        let _ = (&self.kernel).write(&join(&[&head, body]));
    }
}

/// `fuse_init_out`: protocol 7.31, and the least of everything else.
fn init(body: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 64];
    out[..4].copy_from_slice(&7_u32.to_ne_bytes());
    out[4..8].copy_from_slice(&31_u32.min(u32_at(body, 4)).to_ne_bytes());
    out[20..24].copy_from_slice(&4096_u32.to_ne_bytes());
    out[24..28].copy_from_slice(&1_u32.to_ne_bytes());
    out
}

/// A number for each name.
fn node_of(name: &[u8]) -> u64 {
    name.iter()
        .fold(2, |node, byte| node * 257 + u64::from(*byte))
}

/// `fuse_entry_out`.
fn entry(node: u64) -> Vec<u8> {
    let (zero, valid) = (0_u64.to_ne_bytes(), VALID.to_ne_bytes());
    join(&[
        &node.to_ne_bytes(),
        &zero,
        &valid,
        &valid,
        &zero,
        &attr(node),
    ])
}

/// `fuse_attr_out`.
fn attributes(node: u64) -> Vec<u8> {
    join(&[&VALID.to_ne_bytes(), &0_u64.to_ne_bytes(), &attr(node)])
}

/// `fuse_attr`: a directory or a file that belongs to root and has long been at rest.
fn attr(node: u64) -> Vec<u8> {
    let (mode, size) = match node {
        ROOT => (0o040_755_u32, 0),
        _ => (0o100_644, TEXT.len() as u64),
    };
    let time = 1_000_000_000_u64.to_ne_bytes();
    let nothing = 0_u32.to_ne_bytes();
    join(&[
        &node.to_ne_bytes(),
        &size.to_ne_bytes(),
        &1_u64.to_ne_bytes(),
        &[time; 3].concat(),
        &[nothing; 3].concat(),
        &mode.to_ne_bytes(),
        &1_u32.to_ne_bytes(),
        &[nothing; 3].concat(),
        &4096_u32.to_ne_bytes(),
        &nothing,
    ])
}

fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Whoever mounted it says what is in it, and who owns that. If it lets others in, and the
/// kernel does not check modes, they may write what belongs to the user.
#[test]
fn a_mount_of_another_user_or_one_that_checks_nothing_is_not_trusted() {
    for (user, why) in [
        ("0,default_permissions", None),
        ("65534,default_permissions", Some(Why::ForeignMount)),
        ("0", Some(Why::Unchecked)),
    ] {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().canonicalize().unwrap();
        let _mounted = match Hanging::mount_as(user, &path) {
            Ok(mounted) => mounted,
            Err(why) => return keyhole_tests::skipped(why),
        };
        let walked = Walker::new(System).walk(&path, Policy::DIRECTORY);
        let distrusted = match walked.map(drop) {
            Ok(()) => None,
            Err(WalkError::Untrusted(distrust)) => Some(distrust.why),
            Err(error) => panic!("{user}: {error:?}"),
        };
        assert_eq!(distrusted, why, "{user}");
    }
}
