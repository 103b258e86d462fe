//! A file system whose reads hang until the test releases them. It speaks the
//! kernel's FUSE protocol itself, as much of it as a few files and empty names need.

use crate::wall::whole;
use keyhole_tests::{World, skipped, while_repeating};
use rustix::{
    fs::{Mode, OFlags},
    mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount},
};
use std::{
    ffi::CString,
    fs::File,
    io::{Read as _, Write as _},
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

pub(super) const TEXT: &str = "it did not hang\n";

const ROOT: u64 = 1;

/// The numbers of directories begin here.
const DIRECTORIES: u64 = 1 << 60;

/// The number of a file to which another machine writes all the time.
const WRITTEN: u64 = DIRECTORIES - 1;

/// How many seconds the kernel may keep answers about attributes and names.
const VALID: u64 = 3600;

/// Read-only: else the kernel asks for a file's attributes after each read.
const FLAGS: MountFlags = MountFlags::NOSUID
    .union(MountFlags::NODEV)
    .union(MountFlags::RDONLY);

// What the kernel asks for, and what it may be told, as `linux/fuse.h` numbers it.
const LOOKUP: u32 = 1;
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const READ: u32 = 15;
const STATFS: u32 = 17;
const INIT: u32 = 26;
const FOPEN_DIRECT_IO: u64 = 1;
const ENOENT: i32 = 2;
const ENOSYS: i32 = 38;

/// A mounted file system. Any name that ends in `.md` is a file in it. The name `fresh` is a
/// directory, and another one at each look-up, as on 9p without a cache. Drop unmounts it, and
/// whoever waits for it gets an error.
pub(super) struct Hanging {
    at: PathBuf,
    channel: Arc<Channel>,
}

struct Channel {
    kernel: File,
    /// The requests to read that hang. None means that the test has released them.
    hung: Mutex<Option<Vec<Vec<u8>>>>,
    ignores: AtomicBool,
    ignored: AtomicUsize,
    /// How many directories were looked up.
    directories: AtomicU64,
}

impl Hanging {
    /// Mounts one at `at`. None means that this system cannot do this, and says why.
    pub(super) fn mount(at: &Path) -> Option<Self> {
        Self::mount_as("0,default_permissions", at)
    }

    /// The same, mounted by a user who lets all others use it, perhaps with more options.
    pub(super) fn mount_as(user: &str, at: &Path) -> Option<Self> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let kernel = rustix::fs::open("/dev/fuse", flags, Mode::empty());
        let kernel = kernel.map_err(|error| skipped(format!("/dev/fuse: {error}")));
        let kernel = File::from(kernel.ok()?);
        let options = format!(
            "fd={},rootmode=40000,user_id={user},group_id=0,allow_other",
            kernel.as_raw_fd()
        );
        mounted("fuse", at, FLAGS, &options)?;
        let channel = Arc::new(Channel {
            kernel,
            hung: Mutex::new(Some(Vec::new())),
            ignores: AtomicBool::new(false),
            ignored: AtomicUsize::new(0),
            directories: AtomicU64::new(0),
        });
        let hanging = Self {
            at: at.to_owned(),
            channel: Arc::clone(&channel),
        };
        thread::spawn(move || channel.serve());
        Some(hanging)
    }

    /// From now on, it answers nothing. Names that the kernel has cached can still be looked up.
    pub(super) fn ignore_all(&self) {
        self.channel.ignores.store(true, Ordering::Relaxed);
    }

    pub(super) fn ignored(&self) -> usize {
        self.channel.ignored.load(Ordering::Relaxed)
    }

    /// The kernel forgets each name that nobody has open.
    fn forget(&self) {
        mount_remount(&self.at, FLAGS, c"").unwrap();
    }

    pub(super) fn hung(&self) -> usize {
        let hung = self.channel.hung.lock().unwrap();
        hung.as_ref().map_or(0, Vec::len)
    }

    /// Answers the reads that hang. From now on none does.
    pub(super) fn let_go(&self) {
        let hung = self.channel.hung.lock().unwrap().take();
        for request in hung.into_iter().flatten() {
            self.channel.answer(&request, Ok(part(&request)));
        }
    }
}

/// A mount of overlayfs, whose files are another's.
pub(super) struct Overlay(PathBuf);

impl Overlay {
    /// Mounts at `at` what is at `lower`. None means that this system cannot do this, and says
    /// why.
    pub(super) fn mount(lower: &Path, at: &Path) -> Option<Self> {
        // It wants two layers.
        let options = format!("lowerdir={}:{}", lower.display(), at.display());
        mounted("overlay", at, MountFlags::NODEV, &options)?;
        Some(Self(at.to_owned()))
    }
}

fn mounted(kind: &str, at: &Path, flags: MountFlags, options: &str) -> Option<()> {
    let options = CString::new(options).unwrap();
    let mounted = mount(kind, at, kind, flags, &*options);
    mounted
        .map_err(|error| skipped(format!("mount of {kind}: {error}")))
        .ok()
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
            // The kernel begins with one of its own.
            if self.ignores.load(Ordering::Relaxed) && u32_at(&request, 4) != INIT {
                self.ignored.fetch_add(1, Ordering::Relaxed);
            } else {
                self.take(&request[..length]);
            }
        }
    }

    /// Takes a request: its length, what it asks for, its own number, a file's number, who
    /// asks, and what else belongs to it.
    fn take(&self, request: &[u8]) {
        let (node, rest) = (u64_at(request, 16), &request[40..]);
        let answer = match u32_at(request, 4) {
            INIT => Ok(init(u32_at(rest, 4))),
            LOOKUP if rest == b"written.md\0" => Ok(entry(WRITTEN)),
            LOOKUP if rest.ends_with(b".md\0") => {
                // A number for each name.
                let number = |node, byte: &u8| node * 257 + u64::from(*byte);
                Ok(entry(rest.iter().fold(2, number)))
            }
            LOOKUP if rest == b"fresh\0" => {
                let before = self.directories.fetch_add(1, Ordering::Relaxed);
                Ok(entry(DIRECTORIES + before))
            }
            LOOKUP => Err(ENOENT),
            GETATTR => Ok(attributes(node)),
            // The kernel asks us for each read.
            OPEN => Ok([7, FOPEN_DIRECT_IO].map(u64::to_ne_bytes).concat()),
            STATFS => Ok(vec![0; 80]),
            READ => match &mut *self.hung.lock().unwrap() {
                Some(hung) => return hung.push(request.to_vec()),
                None => Ok(part(request)),
            },
            _ => Err(ENOSYS),
        };
        self.answer(request, answer);
    }

    /// Sends an answer, or an error's number.
    fn answer(&self, request: &[u8], answer: Result<Vec<u8>, i32>) {
        let error = answer.as_ref().map_or_else(|number| -number, |_| 0);
        let body = answer.unwrap_or_default();
        let length = u32::try_from(16 + body.len()).unwrap().to_ne_bytes();
        let whole = [&length[..], &error.to_ne_bytes(), &request[8..16], &body].concat();
        // The kernel may have interrupted and dropped the request by now.
        let _ = (&self.kernel).write(&whole);
    }
}

fn part(request: &[u8]) -> Vec<u8> {
    let (offset, size) = (u64_at(request, 48), u32_at(request, 56) as usize);
    let text = TEXT.bytes().skip(usize::try_from(offset).unwrap());
    text.take(size).collect()
}

/// `fuse_init_out`: protocol 7.31 at most, writes of 4096 bytes, and times in nanoseconds.
fn init(minor: u32) -> Vec<u8> {
    let known = [7, minor.min(31), 0, 0, 0, 4096, 1];
    let mut out = known.map(u32::to_ne_bytes).concat();
    out.resize(64, 0);
    out
}

/// `fuse_entry_out`.
fn entry(node: u64) -> Vec<u8> {
    let about = [node, 0, VALID].map(u64::to_ne_bytes).concat();
    [about, attributes(node)].concat()
}

/// `fuse_attr_out`: a directory or a file that belongs to root and has long been at rest, unless
/// it is [`WRITTEN`].
fn attributes(node: u64) -> Vec<u8> {
    let (mode, size) = match node {
        ROOT | DIRECTORIES.. => (0o040_755, 0),
        _ => (0o100_644, TEXT.len() as u64),
    };
    let mut changed = Duration::from_secs(1_000_000_000);
    if node == WRITTEN {
        changed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    }
    let (time, part) = (changed.as_secs(), changed.subsec_nanos());
    let long = [VALID, 0, node, size, 1, time, time, time];
    let short = [part, part, part, mode, 1, 0, 0, 0, 4096, 0_u32];
    let long = long.map(u64::to_ne_bytes).concat();
    [long, short.map(u32::to_ne_bytes).concat()].concat()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Such a file system in a home with this map. None if this system cannot do this.
fn mounted_with(map: &str) -> Option<(World, Hanging)> {
    let world = World::new().directory("mounted").map(map);
    let mount = Hanging::mount(&world.path("mounted"))?;
    mount.let_go();
    Some((world, mount))
}

/// WSL's `/mnt/c` does so.
#[test]
fn a_root_that_gets_another_inode_when_nobody_has_it_open_is_still_served() {
    let Some(_) = whole() else { return };
    let map = "roots = ['~/mounted/fresh']\n[keys]\nk-1 = '~/mounted/fresh/a.md'\n";
    let Some((world, mount)) = mounted_with(map) else {
        return;
    };
    let mut client = world.client();
    for _ in 0..3 {
        mount.forget();
        client.load("k-1").is(TEXT);
    }
    client.end();
    let check = || world.run(["check", "--json"]).json();
    let checked = while_repeating(|| mount.forget(), check);
    assert_eq!(checked["entries"][0]["ok"], true, "{checked}");
}

/// The kernel keeps what the file reported for an hour: a look at that would find it at rest.
#[test]
fn a_file_that_another_machine_is_writing_is_not_served_from_what_the_kernel_remembers() {
    let map = "[keys]\nk-1 = '~/mounted/written.md'\n";
    let Some((world, _mount)) = mounted_with(map) else {
        return;
    };
    let mut client = world.client();
    client.load("k-1").refused("changed");
    client.end();
}
