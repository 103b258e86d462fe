use super::AgentName;

#[test]
fn a_name_with_a_marketplace_means_the_plugins_agent_and_no_other() {
    let name = |name: &str| AgentName::try_from(name).unwrap();
    for (named, caller, means) in [
        ("acme:reviewer", "acme:reviewer", true),
        ("acme@market:reviewer", "acme:reviewer", true),
        ("acme@market:reviewer", "acme@market:reviewer", true),
        ("acme@market:reviewer", "reviewer", false),
        ("acme@market:reviewer", "acme:reviewer2", false),
        ("acme@market:a:b", "acme:a:b", true),
        ("acme:reviewer", "acme@market:reviewer", false),
        ("acme@market", "acme", false),
        ("@market:reviewer", "reviewer", false),
    ] {
        assert_eq!(name(named).means(&name(caller)), means, "{named} {caller}");
    }
}

#[test]
fn an_agents_name_is_bounded_and_one_line() {
    let long = "a".repeat(AgentName::MAX_BYTES + 1);
    for name in ["", "a\nb", "a\0", "a\u{7f}", &long] {
        assert!(AgentName::try_from(name).is_err(), "{name:?}");
    }
    for name in ["löwe", "my agent", &long[1..]] {
        assert_eq!(AgentName::try_from(name).as_deref(), Ok(name));
    }
}

#[test]
fn a_marketplace_stands_behind_the_plugins_name() {
    let plain = |name: &str| AgentName::try_from(name).unwrap().without_marketplace();
    let has = |name: &str| plain(name).is_some();
    assert!(has("acme@market:reviewer"));
    assert!(
        !["acme:reviewer", "reviewer@market", "acme:reviewer@market"]
            .iter()
            .any(|name| has(name))
    );
}
