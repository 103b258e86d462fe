"""The image for containers: read as an engine reads it, and its files run as their user,
with a map and notes that are mounted read-only."""

import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile

from world import AS_ARM64, DOCUMENT, SESSION, Case, folder, packages, project, sum_in_manifest

FILE = "keyhole-image.tar"


class Image:
    """One of those in the archive, each blob of which has been compared with its name."""

    def __init__(self, blobs, descriptor):
        self.manifest = json.loads(blobs(descriptor))
        self.configuration = json.loads(blobs(self.manifest["config"]))
        self.platform = descriptor["platform"]
        self.layers = []
        for layer, diff_id in zip(self.manifest["layers"], self.configuration["rootfs"]["diff_ids"], strict=True):
            plain = gzip.decompress(blobs(layer))
            assert f"sha256:{hashlib.sha256(plain).hexdigest()}" == diff_id
            self.layers.append(plain)

    @property
    def system(self):
        name = f"{self.platform['os']}/{self.platform['architecture']}"
        [found] = [one for one in project.SYSTEMS if one.image == name]
        return found


def images():
    with tarfile.open(packages() / FILE) as archive:
        files = {one.name: archive.extractfile(one).read() for one in archive if one.isfile()}
    used = {"oci-layout", "index.json"}

    def blobs(descriptor):
        name = "blobs/" + descriptor["digest"].replace(":", "/")
        used.add(name)
        content = files[name]
        assert len(content) == descriptor["size"]
        assert "sha256:" + hashlib.sha256(content).hexdigest() == descriptor["digest"]
        return content

    [named] = json.loads(files["index.json"])["manifests"]
    index = json.loads(blobs(named))
    found = [Image(blobs, one) for one in index["manifests"]]
    assert used == set(files), "a blob that nothing names"
    return found


class Container(Case):
    def setUp(self):
        if not (packages() / FILE).exists():
            self.skip("no static program is packed: there is no image")

    def test_it_holds_the_program_and_the_licences_and_nothing_else_and_says_who_runs_it(self):
        # All blobs that are read here are compared with their names.
        found = images()
        self.assertEqual(len({image.system for image in found}), len(found))
        for image in found:
            [layer] = image.layers
            with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
                members = {one.name: one for one in archive}
                self.assertEqual(
                    sorted(members), ["keyhole", "licenses", *(f"licenses/{file}" for file in project.LICENCE_FILES)]
                )
                program = archive.extractfile("keyhole").read()
            self.assertEqual(hashlib.sha256(program).hexdigest(), sum_in_manifest(image.system))
            for one in members.values():
                # They belong to root, and nobody else can write to them.
                self.assertEqual((one.uid, one.gid, one.mode & 0o022), (0, 0, 0), one.name)
            its = image.configuration["config"]
            self.assertEqual((its["User"], its["Entrypoint"]), ("65532:65532", ["/keyhole"]))
            self.assertEqual(its["Labels"]["io.modelcontextprotocol.server.name"], project.NAMES["REGISTRY"])

    def test_a_map_that_is_roots_or_the_users_own_is_served_and_no_other(self):
        for image in images():
            with self.subTest(image.system.image):
                ours = Rootfs(self, image)
                for owner, user in [(0, 65532), (65532, 65532), (1000, 1000)]:
                    home = ours.mounted(owner)
                    self.loads(ours.run(home, user, "serve", input=SESSION))
                # With the home of the last user.
                self.assertEqual(ours.run(home, user, "-V"), f"keyhole {project.VERSION}\n")
                self.assertIn("1 would be served", ours.run(home, user, "check"))
                said = ours.run(home, 65532, "check", exits=2)
                self.assertIn("/home/.config/keyhole belongs to another user", said)
                answers = ours.run(home, 65532, "serve", input=SESSION)
                self.assertIn("map-invalid", answers)
                self.assertNotIn(DOCUMENT.splitlines()[-1], answers)

    def test_a_note_is_served_if_it_is_roots_or_the_users_own_and_may_be_read(self):
        for image in images():
            with self.subTest(image.system.image):
                ours = Rootfs(self, image)
                home = ours.mounted(0)
                note = home / "notes/identifiers.md"
                os.chown(note, 65532, 65532)
                self.loads(ours.run(home, 65532, "serve", input=SESSION))
                # That all may read it, and that it is mounted read-only, changes nothing.
                os.chown(note, 1000, 1000)
                self.refuses("untrusted", ours.run(home, 65532, "serve", input=SESSION))
                os.chown(note, 0, 0)
                note.chmod(0o600)
                self.refuses("permission-denied", ours.run(home, 65532, "serve", input=SESSION))

    def refuses(self, code, answers):
        self.assertIn(f'"code":"{code}"', answers)
        self.assertNotIn(DOCUMENT.splitlines()[-1], answers)


class Rootfs:
    """The files of an image, run in mounts, processes and a network of their own."""

    SCRIPT = """
        set -eu
        root=$1 home=$2 user=$3
        shift 3
        mount --bind "$root" "$root"
        mount -t proc proc "$root/proc"
        for part in .config/keyhole notes; do
            mount --bind "$home/$part" "$root/home/$part"
            mount -o remount,bind,ro "$root/home/$part"
        done
        mount -o remount,bind,ro "$root"
        exec setpriv --no-new-privs chroot --userspec="$user:$user" --groups="$user" "$root" "$@"
    """

    def __init__(self, case, image):
        self.case, self.image = case, image
        if os.geteuid() != 0:
            case.skip("only root can mount, and become another user")
        case.need("unshare", "mount", "setpriv", "chroot")
        self.emulated = []
        if image.system.name == "linux-aarch64" and os.uname().machine != "aarch64":
            if not AS_ARM64:
                case.skip("programs for arm64 do not run here")
            self.emulated = AS_ARM64
        elif image.system.name != f"linux-{os.uname().machine}":
            case.skip(f"{image.system.image} does not run here")
        self.root = folder()
        self.root.chmod(0o755)
        for layer in image.layers:
            with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
                archive.extractall(self.root)
        # Container engines create the mount points, whatever the umask is here.
        for place in ("proc", "home", "home/.config", "home/.config/keyhole", "home/notes"):
            (self.root / place).mkdir()
            (self.root / place).chmod(0o755)
        self.configuration = image.configuration["config"]

    def mounted(self, owner):
        """What is mounted, of this owner, as `umask 022` leaves it."""
        home = self.case.home(file_mode=0o644, folder_mode=0o755)
        for path in home.rglob("*"):
            os.chown(path, owner, owner)
        return home

    def run(self, home, user, *arguments, exits=0, input="", tries=10):
        unshare = ["unshare", "--mount", "--pid", "--fork", "--net", "--ipc", "--uts"]
        command = [*self.emulated, *unshare, "sh", "-c", self.SCRIPT, "sh", self.root, home, str(user)]
        environment = dict(one.split("=", 1) for one in self.configuration["Env"])
        ran = subprocess.run(
            [*command, *self.configuration["Entrypoint"], *arguments],
            capture_output=True,
            text=True,
            input=input,
            env={"PATH": os.environ["PATH"], **environment},
            timeout=600,
        )
        said = ran.stdout + ran.stderr
        self.case.assertEqual(ran.returncode, exits, said)
        # What an emulator on a busy machine answers and advises: call again.
        if ("timed-out: " in said or "busy: " in said) and self.emulated and tries > 1:
            return self.run(home, user, *arguments, exits=exits, input=input, tries=tries - 1)
        return said
