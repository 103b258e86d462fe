"""A registry of npm packages on this machine."""

import contextlib
import http.server
import json
import tarfile
import threading
import urllib.parse

from world import project


@contextlib.contextmanager
def registry(folder):
    """The address of one that has the packages in this folder, and no other."""
    files = {}
    for path in folder.glob("*.tgz"):
        with tarfile.open(path) as archive:
            manifest = json.load(archive.extractfile("package/package.json"))
        files[manifest["name"]] = (path, manifest)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            name = urllib.parse.unquote(self.path.removeprefix("/"))
            address = f"http://127.0.0.1:{self.server.server_port}"
            body = None
            if name.endswith(".tgz"):
                [body] = [path.read_bytes() for path, _ in files.values() if path.name == name]
            elif name in files:
                path, manifest = files[name]
                version = {**manifest, "dist": {"tarball": f"{address}/{path.name}"}}
                body = json.dumps(
                    {
                        "name": name,
                        "dist-tags": {"latest": project.VERSION},
                        "versions": {project.VERSION: version},
                    }
                ).encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
