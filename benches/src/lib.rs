//! What the sandbox costs. See `inside/` for one process and `src/bin` for whole ones.
