#![allow(clippy::unwrap_used, reason = "tests")]

use super::{Location, LocationError};
use std::path::Path;

fn find(named: Option<&str>, appdata: Option<&str>) -> Result<Location, LocationError> {
    Location::find(named.map(Path::new), |name| match name {
        "APPDATA" => appdata.map(Into::into),
        "USERPROFILE" => Some(r"C:\Users\jane".into()),
        // Variables that other shells set. They do not count here.
        _ => Some(r"C:\other".into()),
    })
}

#[test]
fn the_map_is_the_one_that_is_named_else_that_of_appdata() {
    let appdata = Some(r"C:\Users\jane\AppData\Roaming");
    let found = find(None, appdata).unwrap();
    let map = r"C:\Users\jane\AppData\Roaming\keyhole\context-map.toml";
    assert_eq!(found.file(), Path::new(map));
    assert_eq!(found.home(), Some(Path::new(r"C:\Users\jane")));
    let named = find(Some(r"D:\m.toml"), appdata).unwrap();
    assert_eq!(named.file(), Path::new(r"D:\m.toml"));
    for unset in [
        None,
        Some(""),
        Some("Roaming"),
        Some(r"C:Roaming"),
        Some(r"\Roaming"),
    ] {
        assert!(matches!(find(None, unset), Err(LocationError::NoHome)));
    }
}

#[test]
fn a_path_beneath_the_home_cannot_leave_it() {
    let found = find(Some(r"C:\maps\m.toml"), None).unwrap();
    for (path, means) in [
        ("~/a.md", r"C:\Users\jane\a.md"),
        ("~//a.md", r"C:\Users\jane\a.md"),
        (r"~/\a.md", r"C:\Users\jane\a.md"),
        (r"notes\a.md", r"C:\maps\notes\a.md"),
        (r"D:\a.md", r"D:\a.md"),
    ] {
        assert_eq!(
            found.expand(path).as_deref(),
            Some(Path::new(means)),
            "{path}"
        );
    }
}
