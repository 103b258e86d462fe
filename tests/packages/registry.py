"""A registry of npm packages on this machine."""

import contextlib
import functools
import http.server
import json
import shutil
import tarfile
import threading

from world import folder, project


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def registry(packages):
    """The address of one that has the packages in this folder, and no other."""
    root = folder()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=root))
    address = f"http://127.0.0.1:{server.server_port}/"
    for path in packages.glob("*.tgz"):
        shutil.copy(path, root)
        with tarfile.open(path) as archive:
            manifest = json.load(archive.extractfile("package/package.json"))
        about = root / manifest["name"]
        about.parent.mkdir(exist_ok=True)
        manifest["dist"] = {"tarball": f"{address}{path.name}"}
        versions = {project.VERSION: manifest}
        about.write_text(json.dumps({"name": manifest["name"], "dist-tags": {"latest": project.VERSION}, "versions": versions}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield address
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
