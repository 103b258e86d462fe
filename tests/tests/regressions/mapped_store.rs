use keyhole_tests::World;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::{fs::File, ptr, slice, thread, time::Duration};

const KEY: &str = "k-2c1f8a96d0e34b57";

/// A program may change a file by storing into memory that the file is mapped to.
/// The kernel notes the time of the first store. Then the page is dirty, and the
/// kernel notes no time for the second. So the times say that the map did not change.
#[test]
fn a_key_removed_by_a_store_into_the_mapped_map_is_refused_at_the_next_call() {
    let text = format!("# a comment\n[keys]\n{KEY} = '~/a.md'\n");
    let world = World::new().file("a.md", "a\n").map(&text);
    let mut options = File::options();
    let file = options.read(true).write(true).open(world.map_path());
    let (file, rights) = (file.unwrap(), ProtFlags::READ | ProtFlags::WRITE);
    let length = text.len();
    // SAFETY: the mapping is new and nothing else points into it; the file is this
    // test's own, and nobody truncates it while it is mapped.
    let mapped = unsafe { mmap(ptr::null_mut(), length, rights, MapFlags::SHARED, &file, 0) };
    let mapped = mapped.unwrap();
    // SAFETY: the mapping is that long, is readable and writable, and lives until the
    // end of this function. The server reads the file and not this memory.
    let bytes = unsafe { slice::from_raw_parts_mut(mapped.cast::<u8>(), length) };

    // The first store, which does not change what the map means.
    bytes[0] = b'#';
    bytes[2] = b'A';
    thread::sleep(Duration::from_millis(50));
    let mut client = world.client();
    client.load(KEY).is("a\n");
    // The second, which changes the key.
    let at = text.find(KEY).unwrap();
    bytes[at] = b'x';
    client.load(KEY).refused("unknown-key");
    client.load(&KEY.replacen('k', "x", 1)).is("a\n");
    bytes[at] = b'k';
    client.load(KEY).is("a\n");
    client.end();
    // SAFETY: nothing uses `bytes` any more.
    unsafe { munmap(mapped, length) }.unwrap();
}
