use super::{super::ANY, *};

/// What a rule means for `~/private/ids.md`: all of its folder, and the file by its name. Each
/// was tried in both versions of the client, from another folder, in auto mode.
const MEANT: &str = "
Read both
Read(*) both
Read(~/private/**) folder
Read(~/private/) folder
Read(~/private) folder
Read(~/private/*) both
Read(~/private/**/ids.md) -
Read(~/private/*.md) file
Read(~/private/ids.md) file
Read(~/private/?ds.md) file
Read(~/private/[i]ds.md) file
Read(~/private/[a-j]ds.md) file
Read(~/PRIVATE/IDS.md) file
Read(~/[p]rivate/**) folder
Read(~/p?ivate/**) folder
Read(~/priv*/**) folder
Read(~/**) folder
Read(~/*) folder
Read(~/**/*.md) -
Read(//h/me/private/**) folder
Read(//h/me/private/ids.md) file
Read(//**) folder
Read(//*/**) folder
Read(**) -
Read(//) -
Read(~) -
Read(~/) -
Read(/**) -
Read(/**/private/**) -
Read(/**/*.md) -
Read(/*/**) -
Read(/h/me/private/**) -
Read(~/**.md) -
Read(~/pri**ids.md) -
Read(//**.md) -
Read(**/*.md) -
Read(*.md) -
Read(ids.md) -
Read(private/**) -
Read(~/private/./**) -
Read(~/x/../private/**) -
Read(~/{private,x}/**) -
Read(~/private/[!x]ds.md) -
Read(~/private/\\ids.md) -
Read(~/private/ids.md/) -
Read(~/priv/**) -
Read(~/private/**/x) -
";

#[test]
fn a_rule_counts_only_as_far_as_the_client_takes_it() {
    let home = Path::new("/h/me");
    for row in MEANT.trim().lines() {
        let (rule, meant) = row.rsplit_once(' ').unwrap();
        let denied = Denied(vec![rule.to_owned()]);
        let folder = denied.has(&home.join("private").join(ANY), home);
        let file = denied.names(&home.join("private/ids.md"), home);
        let expected = match meant {
            "both" => (true, true),
            "folder" => (true, false),
            "file" => (false, true),
            _ => (false, false),
        };
        assert_eq!((folder, file), expected, "{row}");
    }
}
