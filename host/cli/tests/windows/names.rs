use crate::{checked, load, machine, map_of};
use keyhole_tree::skipped;

/// Other spellings of the one file's name, or names of something else: none is served.
const NONE: [&str; 26] = [
    r"notes\a.md:x.md",
    r"notes\a.md::$DATA.md",
    r"notes:x\a.md",
    "nul.md",
    r"notes\NUL.md",
    r"notes\con.x.md",
    r"notes\com1.md",
    r"notes\COM¹.md",
    r"notes\lpt9 .md",
    r"notes\aux\a.md",
    r"notes.\a.md",
    r"notes \a.md",
    r"notes\...\a.md",
    r"notes\*.md",
    r"notes\?.md",
    r"\\localhost\C$\PLACE\notes\a.md",
    "//localhost/C$/PLACE/notes/a.md",
    r"\\?\C:\PLACE\notes\a.md",
    r"\\.\C:\PLACE\notes\a.md",
    r"\??\C:\PLACE\notes\a.md",
    r"/\?\C:\PLACE\notes\a.md",
    r"C:PLACE\notes\a.md",
    r"\PLACE\notes\a.md",
    "/PLACE/notes/a.md",
    r"1:\a.md",
    r"é:\a.md",
];

#[test]
fn no_stream_device_share_or_drive_relative_path_leads_anywhere() {
    let Some(machine) = machine() else { return };
    let place = machine.place();
    place.write("notes/a.md", "SECRET");
    let below = place.path("");
    let below = below.trim_start_matches(r"C:\");
    assert_eq!(
        load(&machine, &place, r"notes\a.md").as_deref(),
        Ok("SECRET")
    );
    for name in NONE {
        let path = name.replace("PLACE", below);
        let gets = load(&machine, &place, &path);
        let refused = ["map-invalid", "not-found", "not-markdown"];
        let code = gets.expect_err(&path);
        assert!(refused.contains(&&*code), "{path}: {code}");
    }
}

#[test]
fn no_such_name_is_a_map_either() {
    let Some(machine) = machine() else { return };
    let place = machine.place();
    place.write("a.md", "# A\n");
    place.write("map.toml", map_of("a.md"));
    let map = place.path("map.toml");
    for map in [
        format!("{map}:x"),
        format!("{map}::$DATA"),
        format!(r"\\?\{map}"),
        format!(r"\\.\{map}"),
        map.replace("C:", r"\\localhost\C$"),
        place.path("nul"),
    ] {
        checked(&machine, &map, 2);
    }
    checked(&machine, &map, 0);
}

#[test]
fn an_8_3_name_is_not_the_files_name() {
    let Some(machine) = machine() else { return };
    let place = machine.place();
    place.write("notes/secret-long-name.md", "SECRET");
    let listed = machine.run_program("cmd", &["/d", "/c", "dir", "/x", &place.path("notes")], "");
    let short = listed
        .out
        .split_whitespace()
        .find(|word| word.contains('~'));
    let Some(short) = short else {
        // A volume may be configured to create no such names.
        return skipped("this volume has no 8.3 names");
    };
    // Other programs accept it as a name of the file.
    let short = short.replace(".MD", ".md");
    let path = place.path(&format!(r"notes\{short}"));
    let typed = machine.run_program("cmd", &["/d", "/c", "type", &path], "");
    assert_eq!(typed.out, "SECRET", "{path}");
    assert_eq!(load(&machine, &place, &path), Err("not-found".to_owned()));
}

#[test]
fn case_opens_nothing_more_than_the_name_that_was_mapped() {
    let Some(machine) = machine() else { return };
    let place = machine.place();
    place.write("notes/A.MD", "A");
    assert_eq!(load(&machine, &place, r"Notes\a.md").as_deref(), Ok("A"));
    assert_eq!(
        load(&machine, &place, r"notes\A.MD"),
        Err("not-markdown".to_owned())
    );
}
