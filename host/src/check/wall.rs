//! Reports which walls a server has on this system: see [`crate::seal`].

use super::Report;
use crate::seal::Standing;
use serde::Serialize;
use std::io::{self, Write};

/// What a server on this system gives up, for programs.
#[derive(Serialize)]
pub(super) struct JsonWall {
    /// The version of Landlock's interface; `null` means that there is none.
    landlock: Option<u32>,
    /// Whether system calls are filtered.
    system_calls: bool,
}

impl From<Standing> for JsonWall {
    fn from(standing: Standing) -> Self {
        Self {
            landlock: standing.landlock,
            system_calls: standing.system_calls,
        }
    }
}

impl Report {
    /// Adds the parts of the second wall that stand.
    pub(crate) fn with_wall(self, wall: Standing) -> Self {
        Self {
            wall: Some(wall),
            ..self
        }
    }

    /// Writes the last line.
    pub(super) fn write_wall(&self, out: &mut impl Write) -> io::Result<()> {
        match self.wall {
            None => Ok(()),
            Some(wall) if cfg!(not(target_os = "linux")) || wall == Standing::default() => {
                writeln!(
                    out,
                    "second wall: none on this system; the sandbox is the only one"
                )
            }
            Some(wall) if wall.is_whole() => writeln!(
                out,
                "second wall: writing, sockets, programs and other processes are out of the server's reach ({wall})"
            ),
            Some(wall) => writeln!(out, "second wall: not whole on this system ({wall})"),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use crate::{
        check::{Report, check},
        map::{LiveMap, Location},
        seal::Standing,
    };

    fn report(wall: Standing) -> (String, serde_json::Value) {
        let home = tempfile::tempdir().unwrap();
        let map = home.path().join("map.toml");
        let live = LiveMap::new(Location::find(Some(&map), |_| None).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let report: Report = runtime
            .block_on(check(&live, async |_, _| Ok(0)))
            .with_wall(wall);
        let mut out = anstream::StripStream::new(Vec::new());
        report.write_text(&mut out).unwrap();
        let text = String::from_utf8(out.into_inner()).unwrap();
        let json = serde_json::from_str(&report.to_json().unwrap()).unwrap();
        (text, json)
    }

    #[test]
    fn the_closing_line_says_which_walls_stand() {
        for (landlock, system_calls, said) in [
            (
                Some(7),
                true,
                "second wall: writing, sockets, programs and other processes are out of the server's reach (Landlock ABI 7, system-call filter)\n",
            ),
            (
                None,
                true,
                "second wall: not whole on this system (no Landlock, system-call filter)\n",
            ),
            (
                Some(1),
                false,
                "second wall: not whole on this system (Landlock ABI 1, no system-call filter)\n",
            ),
            (
                None,
                false,
                "second wall: none on this system; the sandbox is the only one\n",
            ),
        ] {
            let (text, json) = report(Standing {
                landlock,
                system_calls,
            });
            assert!(text.ends_with(said), "{text}");
            assert_eq!(
                json["second_wall"],
                serde_json::json!({"landlock": landlock, "system_calls": system_calls})
            );
        }
    }
}
