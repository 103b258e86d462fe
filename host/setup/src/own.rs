//! What of a client's file setup has written: all of it, or the lines of our server and hook.

use crate::{clients::Part, map::line_end, recipe::Recipe};

impl Recipe<'_> {
    /// A client's file as it is to be now: `new`, if it is setup's as a whole. If somebody has
    /// changed it since, that with the lines of our server and hook as they are now. None if these
    /// do not stand there.
    pub(crate) fn renewed(self, part: &Part, old: &str, new: &str) -> Option<String> {
        let whole = self.ours(part, old)?;
        if whole == old {
            return Some(new.to_owned());
        }
        let end = line_end(old);
        let (was, is) = (own_blocks(&whole, end), own_blocks(new, end));
        let has_all = !was.is_empty() && was.iter().all(|block| old.contains(block));
        let blocks = was.iter().zip(&is);
        let renewed = blocks.fold(old.to_owned(), |text, (was, is)| text.replacen(was, is, 1));
        has_all.then_some(renewed)
    }

    /// What setup would write there, with the program and the folder for tickets that stand there.
    pub(crate) fn ours(self, part: &Part, text: &str) -> Option<String> {
        let word = |start: &str| {
            let (_, rest) = text.split_once(start)?;
            if !rest.starts_with('"') {
                return Some(rest.split_whitespace().next()?.to_owned());
            }
            let mut values = serde_json::Deserializer::from_str(rest).into_iter();
            values.next()?.ok()
        };
        let starts = [
            "\"command\": ",
            "\n    command: ",
            "command: ",
            "command = ",
        ];
        let program = starts.into_iter().find_map(word).unwrap_or_default();
        let tickets = word("\"--tickets\", ").unwrap_or_default();
        let filled = self.with(&program, Some(&tickets));
        Some(filled.ok()?.fill(part.text))
    }
}

/// The lines of a file of ours that start our server and guard, each with what is indented below.
pub(crate) fn own_blocks(whole: &str, end: &str) -> Vec<String> {
    let lines: Vec<_> = whole.lines().map(|line| line.to_owned() + end).collect();
    let blocks = lines.chunk_by(|_, line| line.starts_with(' '));
    let is_ours = |block: &String| block.contains("\"--bind\"");
    blocks.map(|lines| lines.concat()).filter(is_ours).collect()
}
