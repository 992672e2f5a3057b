//! Compresses the files that are part of the program: the component of the API page, and the OpenAPI document.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use brotli::CompressorWriter;

const BUFFER: usize = 1 << 16;
/// The base-2 logarithm of the window: 16 MB, more than the component has.
const WINDOW: u32 = 24;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/docs/template.json");
    let component = scalar_api_reference::get_asset("scalar.js").expect("the crate has this file");
    write("scalar.js.br", &component)?;
    write("template.json.br", &fs::read("src/docs/template.json")?)
}

fn write(name: &str, content: &[u8]) -> io::Result<()> {
    let variable = |name: &str| env::var(name).expect("cargo sets it");
    // The best quality takes some seconds, which is too long to develop.
    let quality = if variable("PROFILE") == "release" { 11 } else { 5 };
    let file = File::create(Path::new(&variable("OUT_DIR")).join(name))?;
    let mut writer = CompressorWriter::new(file, BUFFER, quality, WINDOW);
    writer.write_all(content)?;
    writer.flush()
}
