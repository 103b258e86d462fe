//! Attacks that try to change something.

use crate::{
    bindings::{
        exports::keyhole::context::loader::LoadError,
        wasi::filesystem::types::{Datetime, DescriptorFlags, NewTimestamp, OpenFlags},
    },
    report::{Answer, FOLLOW, directory, granted, no_follow, refusal, tally},
};

const WRITE: DescriptorFlags = DescriptorFlags::WRITE;
const READ: DescriptorFlags = DescriptorFlags::READ;

pub(crate) fn create_file() -> Answer {
    let directory = directory()?;
    let create = OpenFlags::CREATE;
    let tries = [
        ("new.md", create, WRITE),
        ("new.md", create, READ),
        ("new.md", create | OpenFlags::EXCLUSIVE, READ | WRITE),
        ("sub/new.md", create, WRITE),
        ("dangling.md", create, WRITE),
        ("granted.md", create | OpenFlags::TRUNCATE, WRITE),
    ];
    tally(tries.map(|(path, open, flags)| refusal(directory.open_at(FOLLOW, path, open, flags))))
}

pub(crate) fn truncate_file() -> Answer {
    let directory = directory()?;
    let file = granted()?;
    let open = |flags| directory.open_at(no_follow(), "granted.md", OpenFlags::TRUNCATE, flags);
    tally([
        refusal(open(READ)),
        refusal(open(WRITE)),
        refusal(file.set_size(0)),
        refusal(file.set_size(1 << 40)),
    ])
}

pub(crate) fn write_file() -> Answer {
    let directory = directory()?;
    let file = granted()?;
    let end = file.stat().map_err(|_| LoadError::Internal)?.size;
    let open = |flags| directory.open_at(no_follow(), "granted.md", OpenFlags::empty(), flags);
    tally([
        refusal(open(WRITE)),
        refusal(open(READ | WRITE)),
        refusal(file.write(b"overwritten", 0)),
        refusal(file.write(b"appended", end)),
    ])
}

pub(crate) fn rename_file() -> Answer {
    let directory = directory()?;
    tally([
        refusal(directory.rename_at("granted.md", &directory, "renamed.md")),
        refusal(directory.rename_at("neighbour.md", &directory, "granted.md")),
        refusal(directory.rename_at("granted.md", &directory, "../moved.md")),
        refusal(directory.rename_at("sub", &directory, "sub-2")),
    ])
}

pub(crate) fn link_file() -> Answer {
    let directory = directory()?;
    tally([
        refusal(directory.link_at(no_follow(), "granted.md", &directory, "hard.md")),
        refusal(directory.link_at(FOLLOW, "relative.md", &directory, "hard.md")),
        refusal(directory.link_at(no_follow(), "../outside.md", &directory, "hard.md")),
    ])
}

pub(crate) fn symlink_file() -> Answer {
    let directory = directory()?;
    tally([
        refusal(directory.symlink_at("granted.md", "soft.md")),
        refusal(directory.symlink_at("../outside.md", "soft.md")),
        refusal(directory.symlink_at("/etc", "soft")),
    ])
}

pub(crate) fn make_directory() -> Answer {
    let directory = directory()?;
    tally(["new", "sub/new", "../new"].map(|path| refusal(directory.create_directory_at(path))))
}

pub(crate) fn unlink_file() -> Answer {
    let directory = directory()?;
    tally(
        ["granted.md", "neighbour.md", "relative.md", "sub/deep.md"]
            .map(|path| refusal(directory.unlink_file_at(path))),
    )
}

pub(crate) fn remove_directory() -> Answer {
    let directory = directory()?;
    tally(["sub", "empty", "."].map(|path| refusal(directory.remove_directory_at(path))))
}

pub(crate) fn set_times() -> Answer {
    let directory = directory()?;
    let file = granted()?;
    let then = NewTimestamp::Timestamp(Datetime {
        seconds: 1,
        nanoseconds: 0,
    });
    let now = NewTimestamp::Now;
    tally([
        refusal(file.set_times(then, then)),
        refusal(file.set_times(now, now)),
        refusal(directory.set_times(then, then)),
        refusal(directory.set_times_at(no_follow(), "granted.md", then, then)),
        refusal(directory.set_times_at(FOLLOW, "relative.md", now, then)),
    ])
}

pub(crate) fn mutate_directory() -> Answer {
    let directory = directory()?;
    let flags = READ | DescriptorFlags::MUTATE_DIRECTORY;
    let opened = directory.open_at(no_follow(), ".", OpenFlags::DIRECTORY, flags);
    Ok(refusal(opened))
}

pub(crate) fn write_outside() -> Answer {
    let directory = directory()?;
    let create = OpenFlags::CREATE;
    tally([
        refusal(directory.open_at(FOLLOW, "../new.md", create, WRITE)),
        refusal(directory.open_at(FOLLOW, "to-private/new.md", create, WRITE)),
        refusal(directory.open_at(FOLLOW, "relative.md", OpenFlags::TRUNCATE, WRITE)),
        refusal(directory.unlink_file_at("../outside.md")),
        refusal(directory.unlink_file_at("to-private/secret.md")),
        refusal(directory.rename_at("../outside.md", &directory, "in.md")),
        refusal(directory.create_directory_at("to-home/new")),
    ])
}
