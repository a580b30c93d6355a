//! Compiles the source of a `.proto` file, or a descriptor set, to descriptors.

use std::collections::HashMap;
use std::path::Path;

use prost_reflect::{DescriptorPool, FileDescriptor, MessageDescriptor};
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver, IncludeFileResolver};

use crate::registry::{CompileError, Language, Schema};

/// The file name for a registry's schema, which has none of its own.
const MAIN: &str = "lethe-schema.proto";

/// Files that Confluent's own schemas import without listing them as references: only the names and numbers
/// that options and fields need.
const CONFLUENT: [(&str, &str); 2] = [
    (
        "confluent/meta.proto",
        r#"syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
"#,
    ),
    (
        "confluent/type/decimal.proto",
        r#"syntax = "proto3";
package confluent.type;
message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
"#,
    ),
];

/// Compiles a registry's schema.
///
/// # Errors
/// The problem in the schema.
pub(super) fn schema(schema: &Schema) -> Result<FileDescriptor, CompileError> {
    if schema.language != Language::Protobuf {
        return Err(CompileError::Language("Protobuf"));
    }
    let builtin = CONFLUENT
        .iter()
        .map(|&(name, text)| (name.to_owned(), text.to_owned()));
    let given = schema
        .references
        .iter()
        .map(|reference| (reference.name.clone(), reference.text.clone()));
    let mut sources: HashMap<String, String> = builtin.chain(given).collect();
    sources.insert(MAIN.to_owned(), schema.text.clone());
    let mut resolver = ChainFileResolver::new();
    resolver.add(Sources(sources));
    resolver.add(GoogleFileResolver::new());
    compile(resolver, MAIN)
}

/// Reads a `.proto` file with its imports from the same folder, or a `FileDescriptorSet`, whose last file is
/// the compiled one.
///
/// # Errors
/// The problem in the file.
pub(super) fn file(path: &Path) -> Result<FileDescriptor, CompileError> {
    if path.extension().is_none_or(|extension| extension != "proto") {
        let bytes = std::fs::read(path)?;
        let pool = DescriptorPool::decode(bytes.as_slice())
            .map_err(|error| CompileError::Descriptors(error.to_string()))?;
        return pool.files().last().ok_or(CompileError::NoFile);
    }
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or(CompileError::FileName)?;
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let mut resolver = ChainFileResolver::new();
    resolver.add(IncludeFileResolver::new(folder.to_owned()));
    resolver.add(GoogleFileResolver::new());
    compile(resolver, name)
}

/// Returns the message with that full name, or the only one.
///
/// # Errors
/// An error if none has that name, or there are several.
pub(super) fn message(file: &FileDescriptor, name: Option<&str>) -> Result<MessageDescriptor, CompileError> {
    match name {
        Some(name) => file
            .parent_pool()
            .get_message_by_name(name)
            .ok_or_else(|| CompileError::MessageMissing(name.to_owned())),
        None => {
            let mut messages = file.messages();
            match (messages.next(), messages.next()) {
                (Some(only), None) => Ok(only),
                (None, _) => Err(CompileError::NoMessage),
                (Some(_), Some(_)) => Err(CompileError::SeveralMessages),
            }
        }
    }
}

fn compile(resolver: impl FileResolver + 'static, name: &str) -> Result<FileDescriptor, CompileError> {
    let mut compiler = Compiler::with_file_resolver(resolver);
    compiler
        .include_imports(true)
        .open_file(name)
        .map_err(|error| CompileError::Syntax(error.to_string()))?;
    let pool = compiler.descriptor_pool();
    pool.get_file_by_name(name).ok_or(CompileError::Empty)
}

/// Files in memory.
struct Sources(HashMap<String, String>);

impl FileResolver for Sources {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match self.0.get(name) {
            Some(source) => File::from_source(name, source),
            None => Err(protox::Error::file_not_found(name)),
        }
    }
}
