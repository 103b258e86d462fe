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
        Answer, FOLLOW, directory, got, granted, names, no_follow, open, refusal, surroundings,
        tally, try_all,
    },
};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

const PARENTS: [&str; 20] = [
    "..",
    "../",
    "../.",
    "./..",
    "../outside.md",
    "./../outside.md",
    ".//..//outside.md",
    "sub/../../outside.md",
    "sub/./../..//outside.md",
    "sub/../sub/../../outside.md",
    "../notes/granted.md",
    "../notes/../outside.md",
    "granted.md/../../outside.md",
    "missing/../../outside.md",
    "../../../../../../../../../../etc/passwd",
    "..\\outside.md",
    "%2e%2e/outside.md",
    "..%2foutside.md",
    "\u{ff0e}\u{ff0e}/outside.md",
    "\u{2025}/outside.md",
];

const LINKS: [&str; 7] = [
    "absolute.md",
    "relative.md",
    "chain.md",
    "to-proc/outside.md",
    "sub/up.md",
    "to-etc/passwd",
    "to-home/map.toml",
];

pub(crate) fn parent_paths() -> Answer {
    try_all(&PARENTS)
}

pub(crate) fn absolute_paths() -> Answer {
    let home = surroundings();
    let mut paths: Vec<String> = [
        "/outside.md",
        "/map.toml",
        "/notes/granted.md",
        "/notes/../outside.md",
    ]
    .iter()
    .map(|path| format!("{home}{path}"))
    .collect();
    paths.push(format!("/{home}/outside.md"));
    paths.extend(
        [
            "/",
            "//",
            "/.",
            "/etc/passwd",
            "//etc/passwd",
            "/granted.md",
        ]
        .map(String::from),
    );
    try_all(&paths)
}

pub(crate) fn proc_self() -> Answer {
    let home = surroundings();
    let up = "../../../../../../../../..";
    try_all(&[
        "/proc/self/environ".to_string(),
        "/proc/self/fd/0".to_string(),
        "/proc/self/cwd".to_string(),
        "/dev/fd/0".to_string(),
        format!("/proc/self/root{home}/outside.md"),
        format!("{up}/proc/self/environ"),
        format!("{up}/proc/self/root{home}/outside.md"),
        "to-proc/environ".to_string(),
        "to-proc/fd/0".to_string(),
        format!("to-proc/root{home}/outside.md"),
    ])
}

pub(crate) fn symbolic_links() -> Answer {
    let directory = directory()?;
    tally(LINKS.map(|path| got(open(&directory, FOLLOW, path))))
}

pub(crate) fn symbolic_links_unfollowed() -> Answer {
    let directory = directory()?;
    tally(LINKS.map(|path| got(open(&directory, no_follow(), path))))
}

pub(crate) fn directory_links() -> Answer {
    try_all(&[
        "to-private",
        "to-private/secret.md",
        "to-private/../outside.md",
        "to-home",
        "to-home/outside.md",
        "to-home/notes/granted.md",
        "to-link/secret.md",
        "sub/to-private/secret.md",
    ])
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

pub(crate) fn link_loops() -> Answer {
    try_all(&[
        "self.md",
        "self.md/x",
        "loop-1",
        "loop-1/x",
        "row/50",
        "row/50/x",
    ])
}

pub(crate) fn odd_names() -> Answer {
    let long = "a".repeat(256);
    let deep = "a/".repeat(5000);
    let dots = "./".repeat(5000) + "../outside.md";
    try_all(&[
        "",
        "\0",
        "granted.md\0",
        "granted.md\0.txt",
        "..\0/outside.md",
        ".",
        &long,
        &deep,
        &dots,
    ])
}

pub(crate) fn subdirectory() -> Answer {
    try_all(&[".", "sub", "sub/", "sub/..", "sub/deep.md", "empty"])
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

pub(crate) fn prefix_sibling() -> Answer {
    let home = surroundings();
    try_all(&[
        "../notes-private".to_string(),
        "../notes-private/secret.md".to_string(),
        "-private/secret.md".to_string(),
        format!("{home}/notes-private/secret.md"),
    ])
}

pub(crate) fn other_keys_directory() -> Answer {
    let home = surroundings();
    try_all(&[
        "../other".to_string(),
        "../other/other.md".to_string(),
        format!("{home}/other/other.md"),
        "to-home/other/other.md".to_string(),
    ])
}

pub(crate) fn the_map() -> Answer {
    let home = surroundings();
    try_all(&[
        "../map.toml".to_string(),
        "map.toml".to_string(),
        format!("{home}/map.toml"),
        "to-home/map.toml".to_string(),
    ])
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
    for path in paths.iter().chain(&LINKS) {
        outcomes.push(refusal(directory.stat_at(FOLLOW, path)));
        outcomes.push(refusal(directory.metadata_hash_at(FOLLOW, path)));
    }
    tally(outcomes)
}

pub(crate) fn read_link_targets() -> Answer {
    let directory = directory()?;
    let read = |path: &str| match directory.readlink_at(path) {
        Ok(target) => format!("`{target}`"),
        Err(error) => error.name().to_string(),
    };
    tally(
        [
            "absolute.md",
            "relative.md",
            "to-private",
            "to-private/x",
            "../x",
        ]
        .map(read),
    )
}

pub(crate) fn link_inside() -> Answer {
    try_all(&["inside.md"])
}

pub(crate) fn own_directory() -> Answer {
    Ok(names(&directory()?).map_or_else(
        |error| error.name().to_string(),
        |names| format!("LISTED {} names", names.len()),
    ))
}

pub(crate) fn neighbour_file() -> Answer {
    let directory = directory()?;
    let outcomes = ["neighbour.md", "missing.md"].into_iter().flat_map(|path| {
        [FOLLOW, no_follow()].into_iter().flat_map({
            let directory = &directory;
            move |follow| {
                [
                    got(open(directory, follow, path)),
                    refusal(directory.stat_at(follow, path)),
                    refusal(directory.metadata_hash_at(follow, path)),
                ]
            }
        })
    });
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
        .map(|stat| match stat {
            Err(error) => error.name().to_string(),
            Ok(stat) => match stat.data_access_timestamp {
                None => "no time".to_string(),
                Some(time) => format!("THE TIME {}", time.seconds),
            },
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
