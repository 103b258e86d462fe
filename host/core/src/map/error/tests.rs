//! What the user reads if there is no usable map.

use super::{MapError, MapMistake};
use keyhole_walk::SystemError;

#[test]
fn a_map_that_cannot_be_read_comes_with_what_to_do() {
    let permissions = "fix its permissions, or name another file with --map";
    for (source, then) in [
        (
            SystemError::NotAFile,
            "if it is a directory, add the file's name",
        ),
        (
            SystemError::Busy,
            "save it by renaming a finished file over it",
        ),
        (SystemError::Late, "look at that file system"),
        (SystemError::Confined, "start this program again"),
        (
            SystemError::OutOfResources,
            "raise the limits (ulimit -d, -n and -v)",
        ),
        (SystemError::Denied, permissions),
    ] {
        let path = "map.toml".into();
        let said = MapError::Unreadable(path, source).to_string();
        let expected = format!("the map at map.toml cannot be read: {source}; {then}");
        assert_eq!(said, expected);
    }
}

#[test]
fn a_mistake_names_its_line_and_what_to_write() {
    for (help, said) in [
        (Some("write b"), "map.toml:2: no a; write b"),
        (None, "map.toml:2: no a"),
    ] {
        let source = MapMistake {
            line: 2,
            message: "no a".to_owned(),
            help: help.map(str::to_owned),
        };
        let path = "map.toml".into();
        assert_eq!(MapError::Parse(path, source).to_string(), said);
    }
}
