//! The limits in the OpenAPI document: the constants of the core and the settings in force. Descriptions name limits in braces, as
//! in `{pw} characters`. A range in the description of a field or a parameter also bounds its schema: the length of a text or the
//! value of a number. In a list, the first range bounds the length and the second one the elements.

use std::fmt::Display;

use tidings_core::config::{self, Bounds};
use tidings_core::{analysis, feedback, main_info, newsfeed, notice, post, search};
use utoipa::openapi::path::Parameter;
use utoipa::openapi::schema::{Array, ArrayItems, Object, SchemaType, Type};
use utoipa::openapi::{OpenApi, RefOr, Schema};

use super::operations;
use super::schema::objects;
use crate::config::Config;

enum Limit {
    Range(usize, usize),
    Text(String),
}

pub(super) struct Limits(Vec<(&'static str, Limit)>);

impl Limits {
    pub(super) fn new(core: &config::Config, server: &Config) -> Self {
        let characters = |Bounds { min, max }: Bounds| Limit::Range(min, max);
        let up_to = |min, max: i64| Limit::Range(min, usize::try_from(max).expect("a limit is positive"));
        let text = |limit: &dyn Display| Limit::Text(limit.to_string());
        Self(vec![
            ("{id}", characters(config::ID_LENGTH)),
            ("{pw}", characters(core.password_length())),
            ("{nickname}", characters(config::NICKNAME_LENGTH)),
            ("{notice-days}", characters(notice::DAYS)),
            ("{feedback-type}", characters(feedback::KIND)),
            ("{feedback-text}", characters(feedback::POST)),
            ("{info-line}", characters(main_info::LINE)),
            ("{post-title}", characters(post::TITLE)),
            ("{post-text}", characters(post::POST)),
            ("{post-url}", Limit::Range(0, post::URL_MAX)),
            ("{post-names}", Limit::Range(0, post::NAMES_MAX)),
            ("{post-name}", characters(post::NAME)),
            ("{search}", characters(search::SEARCH)),
            ("{num}", up_to(1, search::NUM_MAX)),
            ("{page}", Limit::Range(1, newsfeed::LIMIT_MAX)),
            ("{page-default}", text(&newsfeed::LIMIT)),
            ("{days-ago}", up_to(0, analysis::DAYS_MAX)),
            ("{log-lines}", text(&analysis::LOG_MAX)),
            ("{similar-words}", text(&core.words.similar)),
            ("{similarity}", text(&core.words.similarity)),
            ("{body}", Limit::Text(bytes(server.body_limit))),
            ("{import}", Limit::Text(bytes(server.import_limit))),
        ])
    }

    pub(super) fn write(&self, document: &mut OpenApi) {
        for operation in operations(document) {
            self.resolve(operation.description.as_mut());
            for parameter in operation.parameters.iter_mut().flatten() {
                let RefOr::T(Parameter { description, schema, .. }) = parameter else { continue };
                let ranges = self.resolve(description.as_mut());
                if let Some(RefOr::T(schema)) = schema {
                    bound(schema, &ranges);
                }
            }
        }
        let Some(components) = &mut document.components else { return };
        for response in components.responses.values_mut() {
            if let RefOr::T(response) = response {
                self.resolve(Some(&mut response.description));
            }
        }
        for object in components.schemas.values_mut().flat_map(objects) {
            self.resolve(object.description.as_mut());
            for property in object.properties.values_mut() {
                if let RefOr::T(schema) = property {
                    let ranges = self.resolve(description(schema));
                    bound(schema, &ranges);
                }
            }
        }
    }

    fn resolve(&self, description: Option<&mut String>) -> Vec<(usize, usize)> {
        let Some(description) = description else { return Vec::new() };
        let mut ranges = Vec::new();
        for (name, limit) in &self.0 {
            let Some(at) = description.find(name) else { continue };
            let text = match limit {
                Limit::Range(min, max) => {
                    ranges.push((at, (*min, *max)));
                    let max = grouped(*max);
                    if *min == 0 { format!("up to {max}") } else { format!("{min} to {max}") }
                }
                Limit::Text(text) => text.clone(),
            };
            *description = description.replace(name, &text);
        }
        ranges.sort_unstable();
        ranges.into_iter().map(|(_, range)| range).collect()
    }
}

fn description(schema: &mut Schema) -> Option<&mut String> {
    match schema {
        Schema::Object(object) => object.description.as_mut(),
        Schema::Array(array) => array.description.as_mut(),
        _ => None,
    }
}

fn bound(schema: &mut Schema, ranges: &[(usize, usize)]) {
    let [(min, max), others @ ..] = ranges else { return };
    match schema {
        Schema::Array(Array { items, min_items, max_items, .. }) => {
            *min_items = Some(*min).filter(|min| *min > 0);
            *max_items = Some(*max);
            if let ArrayItems::RefOrSchema(items) = items
                && let RefOr::T(items) = &mut **items
            {
                bound(items, others);
            }
        }
        Schema::Object(object) if is_of(object, &Type::String) => {
            object.min_length = Some(*min).filter(|min| *min > 0);
            object.max_length = Some(*max);
        }
        Schema::Object(object) if is_of(object, &Type::Integer) => {
            object.minimum = Some((*min).into());
            object.maximum = Some((*max).into());
        }
        _ => {}
    }
}

fn is_of(object: &Object, wanted: &Type) -> bool {
    match &object.schema_type {
        SchemaType::Type(own) => own == wanted,
        SchemaType::Array(types) => types.contains(wanted),
        SchemaType::AnyValue => false,
    }
}

pub(super) fn url(server: &Config) -> &str {
    let base_path = server.base_path.as_str();
    if base_path.is_empty() { "/" } else { base_path }
}

fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).expect("digits")).collect();
    groups.join(",")
}

fn bytes(n: usize) -> String {
    const MIB: usize = 1024 * 1024;
    if n.is_multiple_of(MIB) { format!("{} MiB", n / MIB) } else { format!("{} bytes", grouped(n)) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::openapi::openapi;

    fn document(core: &config::Config, server: &Config) -> Value {
        serde_json::from_str(&openapi(core, server)).unwrap()
    }

    #[test]
    fn limits_are_those_of_the_settings_in_force() {
        let core = config::Config {
            pw_min: 12,
            words: config::WordModel { similar: 7, ..config::WordModel::default() },
            ..config::Config::default()
        };
        let server = Config { import_limit: 1_000, ..Config::default() };
        let document = document(&core, &server);
        let field =
            |schema: &str, name: &str| document["components"]["schemas"][schema]["properties"][name].clone();
        let pw = field("SignUpFields", "pw");
        assert_eq!(pw["description"], "The password, 12 to 128 characters.");
        assert_eq!((&pw["minLength"], &pw["maxLength"]), (&json!(12), &json!(128)));
        assert_eq!(field("NewPasswordFields", "new_pw")["maxLength"], 128);
        let title = field("NoticeFields", "title");
        assert_eq!((&title["minLength"], &title["maxLength"]), (&json!(1), &json!(200)));
        let tag = field("PostFields", "tag");
        assert_eq!((&tag["maxItems"], &tag["items"]["maxLength"]), (&json!(50), &json!(100)));
        let num = &document["paths"]["/priority_search/{num}"]["post"]["parameters"][0]["schema"];
        assert_eq!((&num["minimum"], &num["maximum"]), (&json!(1), &json!(300)));
        let words = &document["paths"]["/get_similarity_words"]["post"]["description"];
        assert!(words.as_str().unwrap().contains("at most 7 words"), "{words}");
        let import = &document["paths"]["/import_posts"]["post"];
        let description = import["description"].as_str().unwrap().replace('\n', " ");
        assert!(description.contains("up to 1,000 bytes"), "{import}");
        let too_large = |name: &str| document["components"]["responses"][name]["description"].clone();
        assert_eq!(too_large("ImportTooLarge"), "The body has more than 1,000 bytes.");
        assert_eq!(too_large("BodyTooLarge"), "The body has more than 1 MiB.");
    }

    #[test]
    fn every_limit_is_used_and_every_name_is_replaced() {
        let limits = Limits::new(&config::Config::default(), &Config::default());
        let document = document(&config::Config::default(), &Config::default());
        let mut values = vec![&document];
        while let Some(value) = values.pop() {
            if let Some(text) = value["description"].as_str() {
                assert!(limits.0.iter().all(|(name, _)| !text.contains(name)), "{text}");
            }
            values.extend(value.as_object().into_iter().flat_map(|object| object.values()));
            values.extend(value.as_array().into_iter().flatten());
        }
        let sources = sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")));
        for (name, _) in limits.0 {
            assert!(sources.iter().any(|source| source.contains(name)), "{name}");
        }
    }

    fn sources(root: &Path) -> Vec<String> {
        let mut directories = vec![root.join("server/src"), root.join("core/src")];
        let mut sources = Vec::new();
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("limits.rs") {
                    sources.push(fs::read_to_string(path).unwrap());
                }
            }
        }
        sources
    }
}
