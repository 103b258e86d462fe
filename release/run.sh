# shellcheck shell=sh
# ./x release: builds, packs and tries what users install. ./x runs this in its own shell.

. tests/python.sh
. release/programs.sh
. release/cross.sh
. release/dist.sh
. release/installs.sh
. release/mac.sh

release_usage() {
    cat <<'USAGE'
usage: ./x release COMMAND

  dist      package the plugin and its marketplace in dist/, with this machine's program
            as dist/keyhole, and the bundle of it
              --quick        an unoptimised server for this machine only, no bundle
              --all          the programs of all systems, built here in dist-programs/,
                             and in dist-release/ all of a release (needs Linux)
              --auditable    with the list of its crates in each server (needs
                             cargo-auditable)
              --server FILE  this program as this machine's server; nothing is built
              --servers DIR  the servers in there, by their names; nothing is built
              --out DIR      another place than dist/
  bundle    the servers of a package as an MCP bundle; [PACKAGE [OUT]]
  packages  its packages for npm, PyPI and containers; [PACKAGE [OUT]]
  installs  each of them installed without a network, and a session; [PACKAGE], else of
            the unoptimised program
  cross     programs for other systems: built and linked unoptimised, those for macOS
            examined, the one for arm64 tried under qemu
  arm       the Rust tests of a program for Linux on arm64, under qemu; [TEST]
  mac       the first hour on a Mac: what a program does there, beside what it should, as
            a text for an issue; [FOLDER] of a package (needs macOS)
  twice     the programs as released, built in two folders, of which each byte has to
            be the same; [TARGET]..., else those of all systems (needs Linux)

If not said, PACKAGE is dist/, and OUT dist-bundle/ or dist-packages/.
USAGE
}

command=${1-}
[ $# -eq 0 ] || shift
case $command in
    dist) setup; dist "$@" ;;
    bundle) bundle "${1:-dist}" "${2:-dist-bundle}" ;;
    packages) pack "${1:-dist}" "${2:-dist-packages}" ;;
    installs) setup; installs "$@" ;;
    cross) setup; cross ;;
    arm) setup; arm64 "$@" ;;
    mac) mac "$@" ;;
    twice) setup; twice "$@" ;;
    help | -h | --help) release_usage ;;
    *) release_usage >&2; exit 2 ;;
esac
