"""winget: the three files of a version, for microsoft/winget-pkgs; none where there is
no program for Windows."""

from project import DESCRIPTION, HOME_PAGE, LICENCE, NAMES, RELEASE, VERSION

SCHEMA = "1.6.0"
PROCESSORS = {"x86_64": "x64", "aarch64": "arm64"}


def pack(programs):
    found = [program for program in programs if program.system.is_windows]
    if not found:
        return
    installers = ["InstallerType: portable", "Commands:", "- keyhole", "Installers:"]
    for program in found:
        installers += [
            f"- Architecture: {PROCESSORS[program.system.name.removeprefix('windows-')]}",
            f"  InstallerUrl: {RELEASE}/{program.system.program}",
            f"  InstallerSha256: {program.sha256.upper()}",
        ]
    yield file("", "version", ["DefaultLocale: en-US"])
    yield file(".installer", "installer", installers)
    yield file(
        ".locale.en-US",
        "defaultLocale",
        [
            "PackageLocale: en-US",
            f"Publisher: {NAMES['PUBLISHER']}",
            "PackageName: Keyhole",
            f"PackageUrl: {HOME_PAGE}",
            f"License: {LICENCE}",
            f"ShortDescription: {DESCRIPTION}",
        ],
    )


def file(part, kind, fields):
    name = f"{NAMES['WINGET']}{part}.yaml"
    schema = f"https://aka.ms/winget-manifest.{kind}.{SCHEMA}.schema.json"
    lines = [
        f"# yaml-language-server: $schema={schema}",
        f"PackageIdentifier: {NAMES['WINGET']}",
        f"PackageVersion: {VERSION}",
        *fields,
        f"ManifestType: {kind}",
        f"ManifestVersion: {SCHEMA}",
    ]
    return name, "".join(f"{line}\n" for line in lines).encode()
