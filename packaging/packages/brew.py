"""Homebrew: a formula that takes a release's programs. It belongs into a tap."""

from project import DESCRIPTION, HOME_PAGE, RELEASE, VERSION

# Homebrew's names.
SYSTEMS = {"linux": "linux", "macos": "macos"}
PROCESSORS = {"x86_64": "intel", "aarch64": "arm"}


def pack(programs):
    found = {program.system.name: program for program in programs if not program.system.is_windows}
    if not found:
        return
    places = []
    for system, ours in SYSTEMS.items():
        if not any(name.startswith(f"{ours}-") for name in found):
            continue
        places += [f"  on_{system} do"]
        for processor, called in PROCESSORS.items():
            if program := found.get(f"{ours}-{processor}"):
                places += [
                    f"    on_{called} do",
                    f'      url "{RELEASE}/{program.system.program}"',
                    f'      sha256 "{program.sha256}"',
                    "    end",
                ]
        places += ["  end", ""]
    yield "keyhole.rb", FORMULA.format(places="\n".join(places)).encode()


FORMULA = f"""\
class Keyhole < Formula
  desc "{DESCRIPTION}"
  homepage "{HOME_PAGE}"
  version "{VERSION}"
  license any_of: ["MIT", "Apache-2.0"]

{{places}}
  def install
    bin.install Dir["keyhole-*"].first => "keyhole"
    # The next line runs it, so it must be executable.
    chmod 0755, bin/"keyhole"
    generate_completions_from_executable(bin/"keyhole", "shell")
    (man1/"keyhole.1").write Utils.safe_popen_read(bin/"keyhole", "shell", "man")
  end

  test do
    assert_match "keyhole #{{{{version}}}}", shell_output("#{{{{bin}}}}/keyhole --version")
    system bin/"keyhole", "demo"
  end
end
"""
