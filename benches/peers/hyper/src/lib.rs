//! hyper-mcp takes its tools from plugins. This one has the tool that the other servers
//! have: it returns a text file, unchanged, from the one folder that it may read.

use extism_pdk::{
    Error, FnResult,
    json::{Value, json},
    plugin_fn,
};

/// The first folder that the host has opened for the plugin.
const FOLDER: wasi::Fd = 3;

#[plugin_fn]
pub fn list_tools(_: String) -> FnResult<String> {
    let tool = json!({
        "name": "read_text_file",
        "description": "Returns a text file, unchanged.",
        "inputSchema": {
            "type": "object",
            "properties": { "path": { "type": "string" } },
            "required": ["path"],
        },
    });
    Ok(json!({ "tools": [tool] }).to_string())
}

#[plugin_fn]
pub fn call_tool(call: String) -> FnResult<String> {
    let call: Value = extism_pdk::json::from_str(&call)?;
    let path = call["request"]["arguments"]["path"]
        .as_str()
        .ok_or_else(|| Error::msg("no path"))?;
    let text = String::from_utf8(read(path).map_err(|error| Error::msg(error.message()))?)?;
    Ok(json!({ "content": [{ "type": "text", "text": text }] }).to_string())
}

/// What the standard library does for targets that have files: ask for the size, and
/// read until the end.
fn read(path: &str) -> Result<Vec<u8>, wasi::Errno> {
    // SAFETY: the descriptors are this function's own or the host's, and the host writes
    // only into the part of the buffer that it is given.
    unsafe {
        let file = wasi::path_open(FOLDER, 0, path, 0, wasi::RIGHTS_FD_READ, 0, 0)?;
        let size = wasi::fd_filestat_get(file)?.size as usize;
        let (mut bytes, mut end) = (vec![0; size + 1], 0);
        loop {
            let rest = &mut bytes[end..];
            let got = wasi::fd_read(
                file,
                &[wasi::Iovec {
                    buf: rest.as_mut_ptr(),
                    buf_len: rest.len(),
                }],
            )?;
            end += got;
            if got == 0 {
                break;
            }
            if end == bytes.len() {
                bytes.resize(2 * end, 0);
            }
        }
        wasi::fd_close(file)?;
        bytes.truncate(end);
        Ok(bytes)
    }
}
