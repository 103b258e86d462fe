//! The usual arguments of the commands for which a client waits, parsed without the
//! library that parses all others.

use super::arguments::{Cli, Command, MapArg, Serve};
use crate::usage::{agent_name, binding_name};
use clap::Parser as _;
use std::ffi::OsString;

impl Command {
    /// Parses the arguments of this process.
    ///
    /// # Errors
    /// What is wrong, or that the user asked for help.
    pub(super) fn parse() -> Result<Self, clap::Error> {
        match Self::quick(std::env::args_os().skip(1)) {
            Some(command) => Ok(command),
            None => Cli::try_parse().map(|cli| cli.command),
        }
    }

    /// The commands for which a client waits, without the library, whose parser would take
    /// a tenth of the time in which the server starts. None if it is another command, or
    /// if anything is unusual or wrong: the library then parses it, or says what.
    fn quick(mut words: impl Iterator<Item = OsString>) -> Option<Self> {
        let name = words.next()?;
        let mut serve = Serve {
            map: MapArg { file: None },
            bind: None,
            key_env: None,
            agent: None,
            require_ticket: false,
            sealed: false,
        };
        let is_serve = name == "serve";
        if !is_serve && name != "guard" {
            return None;
        }
        while let Some(word) = words.next() {
            let mut value = || words.next().filter(is_plain);
            match word.to_str()? {
                "--map" if serve.map.file.is_none() => serve.map.file = Some(value()?.into()),
                "--bind" if is_serve && serve.bind.is_none() => {
                    serve.bind = Some(binding_name(value()?.to_str()?).ok()?);
                }
                "--key-env" if is_serve && serve.key_env.is_none() => {
                    serve.key_env = Some(value()?.into_string().ok()?);
                }
                "--agent" if is_serve && serve.agent.is_none() => {
                    serve.agent = Some(agent_name(value()?.to_str()?).ok()?);
                }
                "--require-ticket" if is_serve && !serve.require_ticket => {
                    serve.require_ticket = true;
                }
                "--sealed" if is_serve && !serve.sealed => serve.sealed = true,
                _ => return None,
            }
        }
        let excluded = serve.key_env.is_some() && (serve.bind.is_none() || serve.sealed)
            || serve.sealed && serve.require_ticket;
        match (excluded, is_serve) {
            (true, _) => None,
            (false, true) => Some(Self::Serve(serve)),
            (false, false) => Some(Self::Guard(serve.map)),
        }
    }
}

/// Whether this can only be a value.
fn is_plain(word: &OsString) -> bool {
    !word.is_empty() && !word.as_encoded_bytes().starts_with(b"-")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{Cli, Command};
    use clap::Parser as _;
    use std::ffi::OsString;

    /// All lists with up to three of these words are tried, and some that are longer.
    const WORDS: [&str; 18] = [
        "--map",
        "m.toml",
        "--map=m.toml",
        "--bind",
        "notes",
        "--key-env",
        "K",
        "--agent",
        "scanner",
        "--require-ticket",
        "--sealed",
        "--help",
        "-h",
        "-",
        "--",
        "serve",
        "",
        "two words\n",
    ];

    /// Each list of up to three of the words.
    fn lists() -> Vec<Vec<&'static str>> {
        let longer = |lists: &[Vec<&'static str>]| -> Vec<Vec<&'static str>> {
            let with = |list: &Vec<&'static str>| WORDS.map(|word| [&list[..], &[word]].concat());
            lists.iter().flat_map(with).collect()
        };
        let mut all = vec![vec![]];
        let mut last = all.clone();
        for _ in 0..3 {
            last = longer(&last);
            all.extend(last.iter().cloned());
        }
        all
    }

    #[test]
    fn what_is_parsed_quickly_is_what_the_whole_parser_makes_of_it() {
        let mut quick = 0;
        for name in ["serve", "guard"] {
            let longer = [
                "--bind notes --key-env K",
                "--bind notes --key-env K --sealed",
                "--bind notes --agent scanner --require-ticket --key-env K --map m.toml",
                "--sealed --require-ticket --map m.toml",
                "--sealed --bind notes --agent scanner --map m.toml",
                "--bind notes --bind notes",
                "--agent scanner --agent notes",
                "--map m.toml --map m.toml",
            ];
            let longer = longer.map(|words| words.split(' ').collect());
            for list in lists().into_iter().chain(longer) {
                let words = || [name].into_iter().chain(list.iter().copied());
                let whole = Cli::try_parse_from(["keyhole"].into_iter().chain(words()));
                let whole = whole.ok().map(|cli| format!("{:?}", cli.command));
                let found = Command::quick(words().map(OsString::from));
                // What is not parsed quickly is left to the library.
                let Some(found) = found else { continue };
                quick += 1;
                assert_eq!(Some(format!("{found:?}")), whole, "{name} {list:?}");
            }
        }
        assert!(quick >= 40, "{quick}");
    }

    /// As clients start them.
    #[test]
    fn usual_arguments_are_parsed_quickly() {
        for line in [
            "serve",
            "guard",
            "serve --map m.toml",
            "serve --require-ticket",
            "serve --bind notes --key-env K --require-ticket --agent scanner",
        ] {
            let words = line.split(' ').map(OsString::from);
            assert!(Command::quick(words).is_some(), "{line}");
        }
    }

    #[test]
    fn other_commands_are_left_to_the_whole_parser() {
        for name in ["check", "serv", "help", "--help", ""] {
            assert!(Command::quick([name].into_iter().map(OsString::from)).is_none());
        }
        assert!(Command::quick([].into_iter()).is_none());
    }
}
