//! The head of a hunk, which counts the lines that follow it in a difference.

/// What the head of a hunk says of the lines that follow.
#[derive(Debug, Default)]
pub struct Hunk {
    /// The lines of the old file.
    pub old: Span,
    /// The lines of the new file.
    pub new: Span,
}

impl Hunk {
    /// What this line says: of `@@ -3 +4,2 @@`, one line of the old file follows, and two of the
    /// new one. None if the line is no head of a hunk.
    pub fn of(line: &str) -> Option<Self> {
        let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        Some(Self {
            old: Span::of(old)?,
            new: Span::of(new)?,
        })
    }
}

/// Lines of a file, as the head of a hunk counts them.
#[derive(Debug, Default)]
pub struct Span {
    /// The number of the first line, from 1.
    pub first: usize,
    /// How many lines there are.
    pub count: usize,
}

impl Span {
    /// What `3,2` stands for, two lines from the third on, or `3`, which is one line. A number has
    /// at most 32 bits, so that no sum is too large.
    fn of(word: &str) -> Option<Self> {
        let (first, count) = word.split_once(',').unwrap_or((word, "1"));
        Some(Self {
            first: first.parse::<u32>().ok()? as usize,
            count: count.parse::<u32>().ok()? as usize,
        })
    }
}
