//! Attacks that try to read what was not granted.

use crate::{
    bindings::{
        exports::keyhole::context::loader::LoadError,
        keyhole::context::grants,
        wasi::filesystem::{
            preopens,
            types::{Advice, DescriptorFlags, OpenFlags},
        },
    },
    report::{
        Answer, FOLLOW, directory, got, granted, no_follow, open, refusal, surroundings, tally,
        try_all,
    },
};
use alloc::{format, string::ToString, vec::Vec};

/// Makes attacks that open paths. `HOME` in a path is the directory around everything.
macro_rules! open_paths {
    ($($name:ident: [$($path:expr),* $(,)?];)*) => {
        $(pub(crate) fn $name() -> Answer { try_all(&[$($path),*]) })*
    };
}

open_paths! {
    parent_paths: [
        "..", "../", "../.", "./..", "../outside.md", "./../outside.md", ".//..//outside.md",
        "sub/../../outside.md", "sub/./../..//outside.md", "sub/../sub/../../outside.md",
        "../notes/granted.md", "../notes/../outside.md", "granted.md/../../outside.md",
        "missing/../../outside.md", "../../../../../../../../../../etc/passwd",
        "..\\outside.md", "%2e%2e/outside.md", "..%2foutside.md",
        "\u{ff0e}\u{ff0e}/outside.md", "\u{2025}/outside.md",
    ];
    absolute_paths: [
        "HOME/outside.md", "HOME/map.toml", "HOME/notes/granted.md", "HOME/notes/../outside.md",
        "/HOME/outside.md", "/", "//", "/.", "/etc/passwd", "//etc/passwd", "/granted.md",
    ];
    proc_self: [
        "/proc/self/environ", "/proc/self/fd/0", "/proc/self/cwd", "/dev/fd/0",
        "/proc/self/rootHOME/outside.md",
        "../../../../../../../../../../proc/self/environ",
        "../../../../../../../../../../proc/self/rootHOME/outside.md",
        "to-proc/environ", "to-proc/fd/0", "to-proc/rootHOME/outside.md",
    ];
    directory_links: [
        "to-private", "to-private/secret.md", "to-private/../outside.md",
        "to-home", "to-home/outside.md", "to-home/notes/granted.md",
        "to-link/secret.md", "sub/to-private/secret.md",
    ];
    link_loops: ["self.md", "self.md/x", "loop-1", "loop-1/x", "row/50", "row/50/x"];
    odd_names: [
        "", "\0", "granted.md\0", "granted.md\0.txt", "..\0/outside.md", ".",
        &"a".repeat(256), &"a/".repeat(5000), &("./".repeat(5000) + "../outside.md"),
    ];
    subdirectory: [".", "sub", "sub/", "sub/..", "sub/deep.md", "empty"];
    prefix_sibling: [
        "../notes-private", "../notes-private/secret.md", "-private/secret.md",
        "HOME/notes-private/secret.md",
    ];
    other_keys_directory: [
        "../other", "../other/other.md", "HOME/other/other.md", "to-home/other/other.md",
    ];
    the_map: ["../map.toml", "map.toml", "HOME/map.toml", "to-home/map.toml"];
    link_inside: ["inside.md"];
}

const LINKS: &str = "absolute.md relative.md chain.md to-proc/outside.md sub/up.md to-etc/passwd \
    to-home/map.toml";

pub(crate) fn symbolic_links() -> Answer {
    try_all(&LINKS.split(' ').collect::<Vec<_>>())
}

pub(crate) fn trailing_slashes() -> Answer {
    let directory = directory()?;
    let mut outcomes = Vec::new();
    for link in ["to-private", "to-home", "to-link", "to-proc", "relative.md"] {
        for end in ["/", "/.", "//", "/./", "/.//."] {
            for follow in [FOLLOW, no_follow()] {
                for flags in [OpenFlags::empty(), OpenFlags::DIRECTORY] {
                    let path = format!("{link}{end}");
                    let opened = directory.open_at(follow, &path, flags, DescriptorFlags::READ);
                    outcomes.push(got(opened));
                }
            }
        }
    }
    tally(outcomes)
}

/// Uses the file as if it were a directory.
pub(crate) fn below_the_file() -> Answer {
    let file = granted()?;
    tally(["", ".", "..", "granted.md"].into_iter().flat_map(|path| {
        [
            got(open(&file, no_follow(), path)),
            refusal(file.stat_at(no_follow(), path)),
        ]
    }))
}

pub(crate) fn stat_outside() -> Answer {
    let directory = directory()?;
    let home = surroundings();
    let outside = format!("{home}/outside.md");
    let mut outcomes = Vec::new();
    let paths = [
        "..",
        "../outside.md",
        "/etc/passwd",
        &outside,
        "to-private/secret.md",
        "to-home/",
    ];
    for path in paths.into_iter().chain(LINKS.split(' ')) {
        outcomes.push(refusal(directory.stat_at(FOLLOW, path)));
        outcomes.push(refusal(directory.metadata_hash_at(FOLLOW, path)));
    }
    tally(outcomes)
}

pub(crate) fn read_link_targets() -> Answer {
    let directory = directory()?;
    let links = "absolute.md relative.md to-private to-private/x ../x".split(' ');
    tally(links.map(|path| refusal(directory.readlink_at(path))))
}

pub(crate) fn neighbour_file() -> Answer {
    let directory = directory()?;
    let mut outcomes = Vec::new();
    for path in ["neighbour.md", "missing.md"] {
        for follow in [FOLLOW, no_follow()] {
            outcomes.push(got(open(&directory, follow, path)));
            outcomes.push(refusal(directory.stat_at(follow, path)));
            outcomes.push(refusal(directory.metadata_hash_at(follow, path)));
        }
    }
    tally(outcomes)
}

pub(crate) fn otherwise_opened() -> Answer {
    const READ: DescriptorFlags = DescriptorFlags::READ;
    let directory = directory()?;
    let open = |follow, how, flags| got(directory.open_at(follow, "granted.md", how, flags));
    let mut outcomes = Vec::from([open(FOLLOW, OpenFlags::empty(), READ)]);
    for how in [
        OpenFlags::CREATE,
        OpenFlags::DIRECTORY,
        OpenFlags::EXCLUSIVE,
        OpenFlags::TRUNCATE,
    ] {
        outcomes.push(open(no_follow(), how, READ));
    }
    for flags in [
        DescriptorFlags::empty(),
        READ | DescriptorFlags::WRITE,
        READ | DescriptorFlags::FILE_INTEGRITY_SYNC,
        READ | DescriptorFlags::DATA_INTEGRITY_SYNC,
        READ | DescriptorFlags::REQUESTED_WRITE_SYNC,
        READ | DescriptorFlags::MUTATE_DIRECTORY,
    ] {
        outcomes.push(open(no_follow(), OpenFlags::empty(), flags));
    }
    tally(outcomes)
}

pub(crate) fn access_times() -> Answer {
    let directory = directory()?;
    let file = granted()?;
    tally(
        [
            file.stat(),
            directory.stat_at(no_follow(), "granted.md"),
            directory.stat(),
            directory.stat_at(no_follow(), "neighbour.md"),
        ]
        .map(|stat| match stat.map(|stat| stat.data_access_timestamp) {
            Err(error) => error.name().to_string(),
            Ok(time) => time.map_or("no time", |_| "THE TIME").to_string(),
        }),
    )
}

pub(crate) fn about_the_file() -> Answer {
    let directory = directory()?;
    let (file, again) = (granted()?, granted()?);
    let links = file.stat().map_err(|_| LoadError::Internal)?.link_count;
    let mut outcomes = Vec::from([
        format!("{links} link"),
        format!("same: {}", file.is_same_object(&again)),
        format!("same: {}", file.is_same_object(&directory)),
        refusal(file.sync()),
        refusal(file.sync_data()),
        refusal(file.advise(0, 0, Advice::WillNeed)),
        refusal(file.read_directory()),
    ]);
    for handle in [&file, &directory] {
        outcomes.push(refusal(handle.get_flags()));
        outcomes.push(refusal(handle.get_type()));
        outcomes.push(refusal(handle.metadata_hash()));
    }
    outcomes.push(refusal(directory.read(1, 0)));
    tally(outcomes)
}

pub(crate) fn what_is_preopened() -> Answer {
    tally(
        preopens::get_directories()
            .into_iter()
            .map(|(_, name)| name),
    )
}

pub(crate) fn find_other_keys() -> Answer {
    let long = "x".repeat(10_000);
    let keys = [
        "other-key",
        "honest",
        "",
        "find_other_key",
        "find_other_keys\0",
        "find_other_keys ",
        "FIND_OTHER_KEYS",
        "*",
        &long,
        "find_other_keys",
    ];
    tally(keys.map(|key| match grants::find(key) {
        None => "nothing".to_string(),
        Some(grant) => format!("{} (its own)", grant.name),
    }))
}

/// Reports what it got by the choice of its refusal, because it may not return a text.
pub(crate) fn without_grant() -> Answer {
    if !preopens::get_directories().is_empty() {
        return Err(LoadError::NotAFile);
    }
    for key in ["without_grant", "honest", "other-key"] {
        if grants::find(key).is_some() {
            return Err(LoadError::NotFound);
        }
    }
    Ok("a text that nobody may return".to_string())
}
