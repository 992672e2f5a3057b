//! The meaning of references such as `&amp;`, `&#8217;`, `&eacute;` and those that a file declares.

use std::borrow::Cow;
use std::collections::HashMap;

use html5gum::{Token, Tokenizer};

/// Entities may contain entities.
const DEPTH_MAX: usize = 8;
/// Of all declared entities that a file refers to, in bytes.
const SIZE_MAX: usize = 1 << 20;
/// In bytes. The longest name of HTML has 32.
const NAME_MAX: usize = 64;

#[derive(Default)]
pub(crate) struct Entities {
    declared: HashMap<String, String>,
    /// In bytes, of declared entities so far.
    size: usize,
}

impl Entities {
    /// Reads declarations such as `<!ENTITY name "text">`.
    pub(crate) fn declare(&mut self, document_type: &str) {
        for declaration in document_type.split("<!ENTITY").skip(1) {
            let Some((name, rest)) = declaration.trim_start().split_once(char::is_whitespace) else {
                continue;
            };
            let value = rest.trim_start();
            let Some(quote) = value.chars().next().filter(|quote| matches!(quote, '"' | '\'')) else {
                continue;
            };
            let Some((value, _)) = value[1..].split_once(quote) else { continue };
            self.declared.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
    }

    /// `None` if the reference means nothing.
    pub(crate) fn meaning(&mut self, name: &str) -> Option<String> {
        let mut text = String::new();
        self.add_meaning(name, 0, &mut text).then_some(text)
    }

    pub(crate) fn resolved<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        if !text.contains('&') {
            return text.into();
        }
        let mut resolved = String::new();
        self.add(text, 0, &mut resolved);
        resolved.into()
    }

    fn add(&mut self, text: &str, depth: usize, to: &mut String) {
        let mut parts = text.split('&');
        to.push_str(parts.next().unwrap_or_default());
        for part in parts {
            match part.split_once(';') {
                Some((name, rest)) if self.add_meaning(name, depth, to) => to.push_str(rest),
                _ => {
                    to.push('&');
                    to.push_str(part);
                }
            }
        }
    }

    fn add_meaning(&mut self, name: &str, depth: usize, to: &mut String) -> bool {
        if name.len() > NAME_MAX {
            return false;
        }
        if let Some(value) = self.declared.get(name) {
            self.size = self.size.saturating_add(value.len());
            if depth < DEPTH_MAX && self.size <= SIZE_MAX {
                let value = value.clone();
                self.add(&value, depth + 1, to);
            }
            return true;
        }
        match of_html(name) {
            Some(text) => {
                to.push_str(&text);
                true
            }
            None => false,
        }
    }
}

/// In HTML, `&#146;` is an apostrophe.
fn of_html(name: &str) -> Option<String> {
    let known = match name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        _ => "",
    };
    if !known.is_empty() {
        return Some(known.to_owned());
    }
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'#') {
        return None;
    }
    let reference = format!("&{name};");
    let mut text = String::new();
    for Ok(token) in Tokenizer::new(&reference) {
        if let Token::String(part) = token {
            text.push_str(&String::from_utf8_lossy(&part));
        }
    }
    // The tokenizer also reads a name without its end, such as `&notit;`: the rest then follows.
    (!text.ends_with(';') || name == "semi").then_some(text)
}
