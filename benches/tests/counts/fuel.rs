//! The instructions of the guest, and of the host's escape of a text, as WebAssembly:
//! with the engine's fuel. They are the same on every machine.

use crate::limits::fuel::{
    ESCAPE_PLAIN, ESCAPE_QUOTES, GUEST_CUT_KIB, GUEST_KIB, GUEST_SMALL, Limit,
};
use wasmtime::{
    Engine, Instance, Module, Result, Store, StoreContextMut,
    component::{Component, Linker, Resource, ResourceAny, ResourceType, Val},
};

#[path = "../../counting.rs"]
mod counting;

static GUEST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest.image"));
static ESCAPE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/escape.image"));

/// More than anything here takes.
const FULL: u64 = 1 << 40;

const ASCII: &str = "- Jane Q. Example, called JQ, 12 Sample Street, Springfield ";
const GERMAN: &str = "Über dem Tor hängt ein Schild: »Zwölf Schlüssel für den König«.\n";
const QUOTES: &str = "- Jane Q. Example, called \"JQ\", 12 Sample Street, Springfield\n";

fn text(of: &str, bytes: usize) -> String {
    let text = of.repeat(bytes / of.len());
    let rest = bytes - text.len();
    text + &"a".repeat(rest)
}

/// How many instructions there are for each KiB of a text, between these numbers of KiB.
fn each_kib(of: &str, between: [usize; 2], count: fn(&str) -> u64) -> f64 {
    let [few, many] = between.map(|kib| count(&text(of, kib << 10)));
    (many as f64 - few as f64) / (between[1] - between[0]) as f64
}

fn holds(counted: f64, limit: Limit) {
    println!("{counted}");
    assert!(counted > limit.was / 2.0, "{counted}: does it still count?");
    assert!(counted <= limit.most, "{counted} {limit:?}");
}

#[test]
fn a_small_document_takes_the_guest_few_instructions() {
    holds(guest(&text(ASCII, 1 << 10)) as f64, GUEST_SMALL);
}

/// It takes some for each part, and does not look at what is in it.
#[test]
fn a_kib_takes_the_guest_few_instructions() {
    holds(each_kib(ASCII, [128, 384], guest), GUEST_KIB);
}

#[test]
fn a_kib_takes_the_guest_few_instructions_if_parts_end_within_a_character() {
    holds(each_kib(GERMAN, [128, 384], guest), GUEST_CUT_KIB);
}

#[test]
fn the_host_escapes_text_in_few_instructions() {
    holds(each_kib(ASCII, [16, 48], escape), ESCAPE_PLAIN);
}

#[test]
fn the_host_escapes_text_with_quotes_in_few_instructions() {
    holds(each_kib(QUOTES, [16, 48], escape), ESCAPE_QUOTES);
}

fn engine() -> Engine {
    Engine::new(&counting::config()).unwrap()
}

/// The instructions of the escape, in a buffer that is large enough.
fn escape(text: &str) -> u64 {
    let engine = engine();
    // SAFETY: the image was made by `Engine::precompile_module` in this package's own
    // build script, and is part of this program.
    let module = unsafe { Module::deserialize(&engine, ESCAPE) }.unwrap();
    let mut store = Store::new(&engine, ());
    store.set_fuel(FULL).unwrap();
    let instance = Instance::new(&mut store, &module, &[]).unwrap();
    let room = instance
        .get_typed_func::<u32, u32>(&mut store, "room")
        .unwrap();
    let escape = instance
        .get_typed_func::<(), u32>(&mut store, "escape")
        .unwrap();
    let memory = instance.get_memory(&mut store, "memory").unwrap();
    let length = u32::try_from(text.len()).unwrap();
    let at = room.call(&mut store, length).unwrap();
    let at = usize::try_from(at).unwrap();
    memory.write(&mut store, at, text.as_bytes()).unwrap();
    // The first makes the buffer.
    escape.call(&mut store, ()).unwrap();
    let before = store.get_fuel().unwrap();
    let escaped = escape.call(&mut store, ()).unwrap();
    let json = serde_json::to_string(text).unwrap();
    assert_eq!(usize::try_from(escaped).unwrap(), json.len() - 2);
    before - store.get_fuel().unwrap()
}

/// The instructions of a guest that is asked for a file of this text, without those that
/// make its instance.
fn guest(text: &str) -> u64 {
    let engine = engine();
    // SAFETY: as above, by `Engine::precompile_component`.
    let component = unsafe { Component::deserialize(&engine, GUEST) }.unwrap();
    let mut store = Store::new(&engine, text.to_owned());
    store.set_fuel(FULL).unwrap();
    let instance = linker(&engine).instantiate(&mut store, &component).unwrap();
    let loader = "keyhole:context/loader@0.2.0";
    let loader = instance.get_export_index(&mut store, None, loader).unwrap();
    let [load, next] = ["load", "next"].map(|name| {
        let index = instance.get_export_index(&mut store, Some(&loader), name);
        instance.get_func(&mut store, index.unwrap()).unwrap()
    });
    let before = store.get_fuel().unwrap();
    let mut got = Vec::new();
    let mut part = [Val::Bool(false)];
    load.call(&mut store, &[Val::String("k-1".into())], &mut part)
        .unwrap();
    loop {
        let [Val::Result(Ok(Some(answer)))] = &part else {
            unreachable!("{part:?}");
        };
        let Val::Variant(which, Some(bytes)) = answer.as_ref() else {
            unreachable!("{answer:?}");
        };
        let Val::List(bytes) = bytes.as_ref() else {
            unreachable!("{bytes:?}");
        };
        got.extend(bytes.iter().map(|byte| match byte {
            Val::U8(byte) => *byte,
            other => unreachable!("{other:?}"),
        }));
        if which == "last" {
            break;
        }
        next.call(&mut store, &[], &mut part).unwrap();
    }
    assert_eq!(got, text.as_bytes());
    before - store.get_fuel().unwrap()
}

/// What is behind a descriptor: a directory with one file, or that file.
struct Descriptor;

/// A grant for `a.md`, which has the store's text.
fn linker(engine: &Engine) -> Linker<String> {
    let mut linker: Linker<String> = Linker::new(engine);
    let mut grants = linker.instance("keyhole:context/grants@0.2.0").unwrap();
    grants
        .func_new("find", move |_, _, _, results| {
            results[0] = Val::Option(Some(Box::new(Val::Record(vec![
                field("name", Val::String("a.md".into())),
                field("max-bytes", Val::U64(1 << 20)),
            ]))));
            Ok(())
        })
        .unwrap();

    let mut types = linker.instance("wasi:filesystem/types@0.2.12").unwrap();
    let of = ResourceType::host::<Descriptor>();
    types.resource("descriptor", of, |_, _| Ok(())).unwrap();
    let mut method = |name: &str, run: fn(StoreContextMut<'_, String>, &[Val]) -> Result<Val>| {
        let name = format!("[method]descriptor.{name}");
        let method = types.func_new(&name, move |mut store, _, asked, results| {
            let Some(Val::Resource(lent)) = asked.first() else {
                unreachable!("{asked:?}");
            };
            lent.resource_drop(&mut store)?;
            results[0] = Val::Result(Ok(Some(Box::new(run(store, asked)?))));
            Ok(())
        });
        method.unwrap();
    };
    method("stat", |store, _| Ok(stat(store.data())));
    method("stat-at", |store, _| Ok(stat(store.data())));
    method("open-at", |store, _| descriptor(store));
    method("read", |store, asked| {
        let &[_, Val::U64(length), Val::U64(from)] = asked else {
            unreachable!("{asked:?}");
        };
        let rest = store.data().bytes().skip(usize::try_from(from)?);
        let read: Vec<Val> = rest.take(usize::try_from(length)?).map(Val::U8).collect();
        let ends = Val::Bool(read.is_empty());
        Ok(Val::Tuple(vec![Val::List(read), ends]))
    });

    let mut preopens = linker.instance("wasi:filesystem/preopens@0.2.12").unwrap();
    preopens
        .func_new("get-directories", move |store, _, _, results| {
            let preopened = Val::Tuple(vec![descriptor(store)?, Val::String("/".into())]);
            results[0] = Val::List(vec![preopened]);
            Ok(())
        })
        .unwrap();
    linker
}

fn descriptor(store: StoreContextMut<'_, String>) -> Result<Val> {
    let descriptor = Resource::<Descriptor>::new_own(1);
    ResourceAny::try_from_resource(descriptor, store).map(Val::Resource)
}

fn stat(text: &str) -> Val {
    let time = Val::Record(vec![
        field("seconds", Val::U64(1)),
        field("nanoseconds", Val::U32(1)),
    ]);
    let time = Val::Option(Some(Box::new(time)));
    Val::Record(vec![
        field("type", Val::Enum("regular-file".into())),
        field("link-count", Val::U64(1)),
        field("size", Val::U64(text.len() as u64)),
        field("data-access-timestamp", Val::Option(None)),
        field("data-modification-timestamp", time.clone()),
        // Otherwise all is read twice.
        field("status-change-timestamp", time),
    ])
}

fn field(name: &str, value: Val) -> (String, Val) {
    (name.to_owned(), value)
}
