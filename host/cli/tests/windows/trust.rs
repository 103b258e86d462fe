use crate::{Machine, Place, checked, load, machine, map_of};

/// Gives everybody all rights to it, or gives others none.
fn open(machine: &Machine, place: &Place, name: &str, everybody: bool) {
    #[cfg(unix)]
    {
        use std::{fs, os::unix::fs::PermissionsExt as _};
        let _ = machine;
        let file = place.here(name);
        let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o700;
        let mode = if everybody { mode | 0o077 } else { mode };
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    }
    #[cfg(windows)]
    {
        let path = place.path(name);
        let change = match everybody {
            true => ["/grant", "*S-1-1-0:(M)"],
            false => ["/remove:g", "*S-1-1-0"],
        };
        let ran = machine.run_program("icacls", &[&path, change[0], change[1]], "");
        assert_eq!(ran.code, 0, "{}", ran.out);
    }
}

#[test]
fn a_map_that_others_may_write_to_is_refused_and_so_is_one_in_such_a_directory() {
    let Some(machine) = machine() else { return };
    let place = machine.place();
    place.write("in/a.md", "# A\n");
    place.write("in/map.toml", map_of("a.md"));
    let map = place.path(r"in\map.toml");
    checked(&machine, &map, 0);
    for name in ["in/map.toml", "in", ""] {
        open(&machine, &place, name, true);
        let said = checked(&machine, &map, 2);
        assert!(said.contains("others can write to"), "{said}");
        open(&machine, &place, name, false);
        checked(&machine, &map, 0);
    }
}

#[test]
fn a_mapped_file_that_others_could_change_or_replace_is_refused_with_or_without_roots() {
    let Some(machine) = machine() else { return };
    let place = machine.place();
    place.write("open/notes/a.md", "# A\n");
    let map = place.path("map.toml");
    let roots = format!("roots = ['{}']\n", place.path(r"open\notes"));
    for name in ["open/notes/a.md", "open/notes", "open"] {
        open(&machine, &place, name, true);
        let gets = load(&machine, &place, r"open\notes\a.md");
        assert_eq!(gets, Err("untrusted".to_owned()), "{name}");
        place.write("map.toml", roots.clone() + &map_of(r"open\notes\a.md"));
        let said = checked(&machine, &map, 1);
        assert!(said.contains("untrusted"), "{said}");
        assert!(said.contains("others can write to"), "{said}");
        open(&machine, &place, name, false);
        let gets = load(&machine, &place, r"open\notes\a.md");
        assert_eq!(gets.as_deref(), Ok("# A\n"), "{name}");
    }
}
