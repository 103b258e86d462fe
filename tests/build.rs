//! Builds the attackers: the hostile guest, components that import what the host does
//! not offer, and components of a hostile shape. It precompiles each with the host's own
//! settings, like the real guest, because the tested program has no compiler.
//!
//! The tests get a list of them, so that each has a test.
//!
//! It also builds Keyhole's own guest a second time, in another place, for a comparison.

use keyhole_componentize::{component, core_module, describe, precompile};
use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use wit_component::{StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{ManglingAndAbi, Resolve, WorldId};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The packages whose interfaces the components import, each of them, in the order in
/// which they build on each other.
const PACKAGES: [&str; 7] = [
    "../wit/deps/io/package.wit",
    "../wit/deps/clocks/package.wit",
    "../wit/deps/filesystem/package.wit",
    "hostile/wit/random.wit",
    "hostile/wit/sockets.wit",
    "hostile/wit/cli.wit",
    "hostile/wit/http.wit",
];

/// The contract. It comes after the packages that it imports.
const CONTRACT: &str = "../wit/context.wit";

/// The one interface that every component may have. The host does not offer the part of
/// `filesystem/types` that streams, so a component imports the whole of that as well.
const ALLOWED: &str = "wasi:filesystem/preopens";

/// What the guest is built from, relative to the workspace's root.
const GUEST: [&str; 4] = ["Cargo.lock", "guest/Cargo.toml", "guest/src", "wit"];

fn main() {
    if let Err(error) = run() {
        // One clear line, instead of a panic with a backtrace.
        println!("cargo::error={error}");
    }
}

fn run() -> Result<()> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let target = env::var("TARGET")?;
    let inputs = "hostile ../guest/src ../guest/Cargo.toml ../wit ../Cargo.lock ../Cargo.toml";
    for input in inputs.split(' ') {
        println!("cargo::rerun-if-changed={input}");
    }
    let manifest = fs::canonicalize("hostile/Cargo.toml")?;
    let guest = core_module(&manifest, "keyhole_hostile", &out.join("hostile"))?;
    let image = image(&out, &target, "guest", &component(&guest)?)?;
    let image = format!("static IMAGE: &[u8] = {image};");
    fs::write(out.join("guest.rs"), image)?;
    fs::write(out.join("elsewhere.wasm"), elsewhere(&out)?)?;

    let mut list = String::from("imports! {\n");
    for (interface, component) in imports()? {
        let name = interface.replace("wasi:", "").replace(['/', '-'], "_");
        let image = self::image(&out, &target, &name, &component)?;
        writeln!(list, "    {name}: {interface:?} = {image};")?;
    }
    fs::write(out.join("imports.rs"), list + "}\n")?;

    let mut list = String::from("shapes! {\n");
    let text = fs::read_to_string("hostile/shapes.wat")?;
    // The first block says what this file is.
    for block in text.split("\n\n").skip(1) {
        let (head, body) = block.split_once('\n').ok_or("a shape without a body")?;
        let head = head.strip_prefix(";; ").and_then(|head| {
            let (name, rest) = head.split_once(": ")?;
            let (about, promise) = rest.split_once(" => ")?;
            Some((name, about, promise))
        });
        let (name, about, promise) = head.ok_or_else(|| format!("not a shape: {block}"))?;
        let shape = shape(body).map_err(|error| format!("{name}: {error:#}"))?;
        let image = match self::image(&out, &target, name, &shape) {
            Err(_) if promise == "not compiled" => "&[]".to_owned(),
            image => image?,
        };
        writeln!(list, "    {name}: {about:?} => {promise:?} = {image};")?;
    }
    Ok(fs::write(out.join("shapes.rs"), list + "}\n")?)
}

/// Keyhole's own component, built from a copy of its sources in another place.
fn elsewhere(out: &Path) -> Result<Vec<u8>> {
    let root = out.join("a copy");
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    for source in GUEST {
        let copy = root.join(source);
        fs::create_dir_all(copy.parent().ok_or("no place for the copy")?)?;
        let mut cp = Command::new("cp");
        cp.arg("-R").arg(Path::new("..").join(source)).arg(copy);
        if !cp.status()?.success() {
            return Err(format!("{source} cannot be copied").into());
        }
    }
    // The copy has neither the other members nor the guest's tests.
    let members = |line: &&str| !line.starts_with("members =") && !line.starts_with("default-");
    let text = fs::read_to_string("../Cargo.toml")?;
    let text: Vec<&str> = text.lines().filter(members).collect();
    let text = text.join("\n");
    let text = text.replace("[workspace]", "[workspace]\nmembers = [\"guest\"]");
    fs::write(root.join("Cargo.toml"), text)?;
    let guest = root.join("guest/Cargo.toml");
    let text = fs::read_to_string(&guest)?;
    let (text, _) = text.split_once("[dev-dependencies]").unwrap_or((&text, ""));
    fs::write(&guest, text)?;
    // In the same cargo folder as the hostile guest, which needs the same macros.
    let module = core_module(&guest, "keyhole_guest", &out.join("hostile"))?;
    Ok(component(&module)?)
}

/// Precompiles a component. Returns the expression for its image.
fn image(out: &Path, target: &str, name: &str, component: &[u8]) -> Result<String> {
    let path = out.join(format!("{name}.image"));
    fs::write(&path, precompile(component, target)?)?;
    Ok(format!("include_bytes!({path:?})"))
}

fn packages() -> Result<Resolve> {
    let mut resolve = Resolve::default();
    for path in PACKAGES.iter().chain([&CONTRACT]) {
        resolve.push_str(path, &fs::read_to_string(path)?)?;
    }
    Ok(resolve)
}

/// For every interface, a component that imports all of it.
fn imports() -> Result<Vec<(String, Vec<u8>)>> {
    let mut resolve = packages()?;
    let named = resolve.interfaces.iter().filter_map(|(_, interface)| {
        let name = interface.name.as_ref()?;
        let package = &resolve.packages[interface.package?].name;
        let id = package.interface_id(name);
        (package.namespace == "wasi").then(|| (format!("wasi:{}/{name}", package.name), id))
    });
    let mut interfaces: Vec<_> = named.collect();
    interfaces.sort_unstable();
    interfaces.retain(|(interface, _)| interface != ALLOWED);

    let mut components = Vec::new();
    for (at, (interface, id)) in interfaces.into_iter().enumerate() {
        let world = format!(
            "package keyhole:hostile{at};
             world hostile {{ import {id}; export keyhole:context/loader@0.4.0; }}"
        );
        let package = resolve.push_str("hostile.wit", &world)?;
        let world = resolve.select_world(&[package], None)?;
        let module = dummy_module(&resolve, world, ManglingAndAbi::Standard32);
        let component = encode(module, &resolve, world)?;
        // The host cannot refuse what the component does not really import.
        if !describe(&component)?.contains(&format!("import {id};")) {
            return Err(format!("the component does not import {id}").into());
        }
        components.push((interface, component));
    }
    Ok(components)
}

/// A core module that claims to be a guest: these fields, and those that every guest has.
fn shape(fields: &str) -> Result<Vec<u8>> {
    let mut text = format!("(module {fields}");
    for (unless, field) in [
        ("(memory (export", "(memory (export \"memory\") 1)"),
        (
            "cabi_realloc",
            "(func (export \"cabi_realloc\") (param i32 i32 i32 i32) (result i32) i32.const 4096)",
        ),
        (
            "func $load",
            "(func $load (param i32 i32) (result i32) i32.const 0)",
        ),
    ] {
        if !fields.contains(unless) {
            text += field;
        }
    }
    text += "(export \"keyhole:context/loader@0.4.0#load\" (func $load)))";
    let resolve = packages()?;
    let mut worlds = resolve.worlds.iter();
    let world = worlds.find(|(_, world)| world.name == "context-loader");
    let (world, _) = world.ok_or("the contract has no world")?;
    encode(wat::parse_str(text)?, &resolve, world)
}

fn encode(mut module: Vec<u8>, resolve: &Resolve, world: WorldId) -> Result<Vec<u8>> {
    embed_component_metadata(&mut module, resolve, world, StringEncoding::UTF8, false)?;
    Ok(component(&module)?)
}
