"""An image for containers, from nothing: the static program, the licences, and no more.
It is an OCI image layout in a tar, with an image for each kind of processor."""

import hashlib
import json
import struct

from archives import tar, tar_gz
from project import DESCRIPTION, HOME_PAGE, LICENCE, LICENCE_FILES, NAMES, ROOT, VERSION

FILE = "keyhole-image.tar"
# An unused id: no system gives it to one of its users.
USER = 65532
# The map and its files are mounted under it, so that `~/` in a map means the same.
HOME = "/home"

LABELS = {
    "org.opencontainers.image.title": "Keyhole",
    "org.opencontainers.image.description": DESCRIPTION,
    "org.opencontainers.image.version": VERSION,
    "org.opencontainers.image.licenses": LICENCE,
    "org.opencontainers.image.source": HOME_PAGE,
    "org.opencontainers.image.url": HOME_PAGE,
    # This label tells the MCP registry whose image it is.
    "io.modelcontextprotocol.server.name": NAMES["REGISTRY"],
}


def pack(programs):
    layout = Layout()
    images = []
    for program in programs:
        if program.system.image == "-":
            continue
        if not is_static(program.content):
            print(f"skipped: the image for {program.system.image} (its program is not static)")
            continue
        images.append(layout.image(program))
    if images:
        yield FILE, layout.archive(images)


def is_static(program):
    """Whether no other file is needed to start this ELF program: none of its segments
    names an interpreter."""
    if program[:5] != b"\x7fELF\x02":
        return False
    (offset,) = struct.unpack_from("<Q", program, 0x20)
    size, count = struct.unpack_from("<HH", program, 0x36)
    kinds = [struct.unpack_from("<I", program, offset + size * i)[0] for i in range(count)]
    interpreter = 3
    return interpreter not in kinds


def text(value):
    return json.dumps(value, indent=2, sort_keys=True).encode() + b"\n"


class Layout:
    """Blobs by their sums."""

    def __init__(self):
        self.files = {"oci-layout": (0o644, text({"imageLayoutVersion": "1.0.0"}))}

    def blob(self, kind, content, **more):
        """Adds it, and says what stands for it where it is named."""
        digest = hashlib.sha256(content).hexdigest()
        self.files[f"blobs/sha256/{digest}"] = (0o644, content)
        return {
            "mediaType": f"application/vnd.oci.image.{kind}",
            "digest": f"sha256:{digest}",
            "size": len(content),
            **more,
        }

    def image(self, program):
        operating_system, processor = program.system.image.split("/")
        files = {
            "keyhole": (0o755, program.content),
            "licenses": (0o755, None),
            **{f"licenses/{file}": (0o644, (ROOT / file).read_bytes()) for file in LICENCE_FILES},
        }
        configuration = {
            "os": operating_system,
            "architecture": processor,
            "config": {
                "User": f"{USER}:{USER}",
                "Env": [f"HOME={HOME}"],
                "WorkingDir": "/",
                "Entrypoint": ["/keyhole"],
                "Labels": LABELS,
            },
            "rootfs": {
                "type": "layers",
                "diff_ids": [f"sha256:{hashlib.sha256(tar(files)).hexdigest()}"],
            },
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": self.blob("config.v1+json", text(configuration)),
            "layers": [self.blob("layer.v1.tar+gzip", tar_gz(files))],
            "annotations": LABELS,
        }
        platform = {"os": operating_system, "architecture": processor}
        return self.blob("manifest.v1+json", text(manifest), platform=platform)

    def archive(self, images):
        kind = "application/vnd.oci.image.index.v1+json"
        index = {"schemaVersion": 2, "mediaType": kind, "manifests": images, "annotations": LABELS}
        named = {
            "org.opencontainers.image.ref.name": VERSION,
            # The name of the image in docker and containerd once it is loaded.
            "io.containerd.image.name": f"{NAMES['IMAGE']}:{VERSION}",
        }
        top = {
            "schemaVersion": 2,
            "mediaType": kind,
            "manifests": [self.blob("index.v1+json", text(index), annotations=named)],
        }
        self.files["index.json"] = (0o644, text(top))
        self.files["blobs"] = self.files["blobs/sha256"] = (0o755, None)
        return tar(self.files)
