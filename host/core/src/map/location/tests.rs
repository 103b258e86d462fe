use super::{Location, LocationError};
use std::path::Path;

fn find(named: Option<&str>, set: &[(&str, &str)]) -> Result<Location, LocationError> {
    Location::find(named.map(Path::new), |name| {
        let (_, value) = set.iter().find(|(n, _)| *n == name)?;
        Some(value.into())
    })
}

#[test]
fn the_map_is_the_one_that_is_named_else_that_of_the_xdg_directory_else_of_the_home() {
    let both = [("HOME", "/home/u"), ("XDG_CONFIG_HOME", "/config")];
    let empty = [("HOME", "/home/u"), ("XDG_CONFIG_HOME", "")];
    let relative = [("HOME", "/home/u"), ("XDG_CONFIG_HOME", "config")];
    let at_home = "~/.config/keyhole/context-map.toml";
    let in_xdg = "$XDG_CONFIG_HOME/keyhole/context-map.toml";
    let named = "the place that --map names";
    let (home, xdg) = (
        at_home.replace('~', "/home/u"),
        "/config/keyhole/context-map.toml",
    );
    for (name, set, file, words) in [
        (Some("/m.toml"), &both[..], "/m.toml", named),
        (Some("/m.toml"), &[], "/m.toml", named),
        (None, &both, xdg, in_xdg),
        (None, &both[..1], &home, at_home),
        (None, &both[1..], xdg, in_xdg),
        (None, &empty, &home, at_home),
        (None, &relative, &home, at_home),
    ] {
        let found = find(name, set).unwrap();
        assert_eq!((&*found.file, found.in_words()), (Path::new(file), words));
        assert_eq!(found.home.is_some(), set.contains(&both[0]));
    }
    for unset in [&[][..], &[("HOME", "")], &[("HOME", "home")]] {
        assert!(matches!(find(None, unset), Err(LocationError::NoHome)));
    }
    // The command line takes no empty name.
    assert!(find(Some(""), &both).is_err());
}
