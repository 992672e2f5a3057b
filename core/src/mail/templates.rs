//! The texts of mail. Each is Markdown: the source is the plain text, and its rendering is the HTML. The first line is the
//! subject. `{id}`, `{code}`, `{link}`, `{minutes}` and `{site}` stand for values; a paragraph with a missing value is left out.
//! The layout of the HTML has the values `{subject}`, `{language}` and `{body}`.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::LazyLock;

use pulldown_cmark::{Parser, html};
use regex::{Captures, Regex};

use super::letter::{Letter, Text};
use crate::base::config::{CONFIRM_PAGE, INVITE_PAGE, Invalid, Language, Mail, RESET_PAGE};
use crate::base::text_file;
use crate::record::error::Result;

struct BuiltIn(Text, &'static str, [&'static str; 2]);

macro_rules! built_in {
    ($text:ident, $name:literal) => {
        BuiltIn(
            Text::$text,
            concat!($name, ".md"),
            [
                include_str!(concat!("templates/", $name, ".en.md")),
                include_str!(concat!("templates/", $name, ".ko.md")),
            ],
        )
    };
}

const TEXTS: [BuiltIn; 9] = [
    built_in!(Confirm, "confirm"),
    built_in!(Taken, "taken"),
    built_in!(Reset, "reset"),
    built_in!(PasswordChanged, "password-changed"),
    built_in!(AddressChanged, "address-changed"),
    built_in!(AddressProposed, "address-proposed"),
    built_in!(SignInChanged, "sign-in-changed"),
    built_in!(Invite, "invite"),
    built_in!(Test, "test"),
];
const LAYOUT: &str = include_str!("templates/layout.html");
const LAYOUT_FILE: &str = "layout.html";

pub(super) const MINUTES: &str = "20";

pub(super) struct Templates {
    texts: Box<[Cow<'static, str>]>,
    layout: Cow<'static, str>,
    language: Language,
    site: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) subject: String,
    pub(super) text: String,
    pub(super) html: String,
}

impl Templates {
    /// Fails when a file of the operator cannot be read, names an unknown value, or makes mail without a subject, a text, or the
    /// code that it is for.
    pub(super) fn new(config: &Mail) -> Result<Self> {
        let (dir, language) = (config.templates.as_deref(), config.language);
        let texts = TEXTS.iter().map(|BuiltIn(_, file, texts)| {
            read(dir, file, texts[language as usize], &["id", "code", "link", "minutes", "site"])
        });
        let layout = read(dir, LAYOUT_FILE, LAYOUT, &["subject", "language", "body"])?;
        let templates = Self { texts: texts.collect::<Result<_>>()?, layout, language, site: config.site() };
        let fault = |BuiltIn(text, file, _): &BuiltIn| Some((*file, templates.fault(*text, config)?));
        let has_body = names(&templates.layout).any(|name| name == "body");
        let of_layout = (!has_body).then_some((LAYOUT_FILE, "has no {body}"));
        match TEXTS.iter().find_map(fault).or(of_layout) {
            None => Ok(templates),
            Some((file, fault)) => Err(invalid(&dir.unwrap_or(Path::new("")).join(file), fault).into()),
        }
    }

    /// The fault is found in a mail with only the values that every mail of this text has.
    fn fault(&self, text: Text, config: &Mail) -> Option<&'static str> {
        const CODE: &str = "0c0de0";
        let pages = [(Text::Confirm, CONFIRM_PAGE), (Text::Reset, RESET_PAGE), (Text::Invite, INVITE_PAGE)];
        let page = pages.into_iter().find(|(of, _)| *of == text).map(|(_, page)| page);
        let id = if matches!(text, Text::Invite | Text::Test) { "" } else { "0" }.to_owned();
        let code = page.map(|_| CODE.to_owned().into());
        let link = page.and_then(|page| config.link(page, CODE));
        let Written { subject, text, .. } = self.write(&Letter { to: String::new(), text, id, code, link });
        if subject.trim().is_empty() {
            return Some("has no subject in its first line, or one with a value that its mail may lack");
        }
        let has_code = page.is_none() || subject.contains(CODE) || text.contains(CODE);
        (!has_code)
            .then_some("has neither {code} nor a {link} that is set: its mail would be without the code")
    }

    pub(super) fn write(&self, letter: &Letter) -> Written {
        let at = TEXTS.iter().position(|BuiltIn(text, ..)| *text == letter.text);
        let source = &self.texts[at.expect("each text is among them")];
        let (subject, body) = source.split_once('\n').unwrap_or((source, ""));
        let values = |escape: fn(&str) -> String| {
            [
                ("id", Some(escape(&letter.id))),
                ("site", Some(escape(&self.site))),
                ("minutes", Some(MINUTES.to_owned())),
                // Both are made of characters without a meaning in Markdown.
                ("code", letter.code.as_ref().map(|code| code.to_string())),
                ("link", letter.link.clone()),
            ]
        };
        let plain = values(str::to_owned);
        let subject = filled(subject, &plain).unwrap_or_default();
        let text = paragraphs(body, &plain);
        let mut body_html = String::new();
        html::push_html(&mut body_html, Parser::new(&paragraphs(body, &values(escaped_markdown))));
        let in_layout = [
            ("subject", Some(escaped_html(&subject))),
            ("language", Some(self.language.tag().to_owned())),
            ("body", Some(body_html)),
        ];
        let html = filled(&self.layout, &in_layout).unwrap_or_default();
        Written { subject, text, html }
    }
}

fn invalid(path: &Path, why: impl fmt::Display) -> Invalid {
    Invalid::new(&["mail-templates"], format!("{} {why}", path.display()))
}

fn read(dir: Option<&Path>, file: &str, built_in: &'static str, names: &[&str]) -> Result<Cow<'static, str>> {
    let Some(path) = dir.map(|dir| dir.join(file)).filter(|path| path.exists()) else {
        return Ok(built_in.into());
    };
    let text = text_file::read(&path).map_err(|error| invalid(&path, format!("cannot be read: {error}")))?;
    let text = text.replace("\r\n", "\n");
    if let Some(name) = self::names(&text).find(|name| !names.contains(name)) {
        return Err(invalid(&path, format!("has {{{name}}}, which is none of {}", names.join(", "))).into());
    }
    Ok(text.into())
}

static VALUE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{([a-z]+)\}").expect("it is a regular expression"));

fn names(text: &str) -> impl Iterator<Item = &str> {
    VALUE.captures_iter(text).map(|found| found.extract::<1>().1[0])
}

/// `None` if a value is missing.
fn filled(text: &str, values: &[(&str, Option<String>)]) -> Option<String> {
    let value = |name: &str| values.iter().find(|(known, _)| *known == name)?.1.as_deref();
    let is_whole = names(text).all(|name| value(name).is_some());
    is_whole
        .then(|| VALUE.replace_all(text, |found: &Captures<'_>| value(&found[1]).unwrap_or_default()).into())
}

fn paragraphs(text: &str, values: &[(&str, Option<String>)]) -> String {
    let paragraphs = text.trim_matches('\n').split("\n\n").filter_map(|text| filled(text, values));
    let paragraphs: Vec<_> = paragraphs.map(|paragraph| paragraph.trim_end().to_owned()).collect();
    format!("{}\n", paragraphs.join("\n\n").trim_end())
}

fn escaped_markdown(text: &str) -> String {
    text.chars().flat_map(|c| c.is_ascii_punctuation().then_some('\\').into_iter().chain([c])).collect()
}

fn escaped_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;

    fn letter(text: Text) -> Letter {
        let code = Some(Zeroizing::new("8k2m-0qwz-7hn4-c9xe".to_owned()));
        let link = Some("https://campus.example/account/password#8k2m-0qwz-7hn4-c9xe".to_owned());
        Letter { to: "ann@example.org".into(), text, id: "ann_lee".into(), code, link }
    }

    fn config(language: Language) -> Mail {
        Mail { from: Some("Campus <no-reply@campus.example>".parse().unwrap()), language, ..Mail::default() }
    }

    #[test]
    fn each_mail_is_text_and_html_in_both_languages() {
        for language in [Language::En, Language::Ko] {
            let templates = Templates::new(&config(language)).unwrap();
            let all = TEXTS.iter().map(|BuiltIn(text, file, _)| {
                let Written { subject, text, html } = templates.write(&letter(*text));
                format!("==== {file}\nSubject: {subject}\n\n{text}----\n{html}")
            });
            insta::assert_snapshot!(format!("texts_{}", language.tag()), all.collect::<String>());
        }
    }

    #[test]
    fn a_paragraph_without_its_value_is_left_out_and_no_value_has_a_meaning_of_its_own() {
        let templates = Templates::new(&config(Language::En)).unwrap();
        let without = Letter { link: None, id: "<b>*x*</b> {code}".into(), ..letter(Text::Reset) };
        let Written { text, html, .. } = templates.write(&without);
        assert!(!text.contains("https://") && !html.contains("https://"), "{text}");
        assert!(text.contains("<b>*x*</b> {code}"), "{text}");
        assert!(html.contains("&lt;b&gt;*x*&lt;/b&gt; {code}"), "{html}");
    }

    #[test]
    fn no_text_speaks_of_a_value_that_the_mail_does_not_have() {
        let link = "https://campus.example/account/password#8k2m-0qwz-7hn4-c9xe";
        for (language, link_word) in [(Language::En, "link"), (Language::Ko, "링크")] {
            for name in [None, Some("도서관 Campus")] {
                let mut config = config(language);
                config.from.as_mut().unwrap().0.name = name.map(str::to_owned);
                let templates = Templates::new(&config).unwrap();
                for (BuiltIn(text, file, _), has_link) in
                    TEXTS.iter().flat_map(|one| [(one, true), (one, false)])
                {
                    let has_code = matches!(text, Text::Confirm | Text::Reset | Text::Invite);
                    let full = letter(*text);
                    let letter = Letter {
                        code: full.code.filter(|_| has_code),
                        link: full.link.filter(|_| has_code && has_link),
                        id: if matches!(text, Text::Invite | Text::Test) { String::new() } else { full.id },
                        ..letter(*text)
                    };
                    let Written { subject, text, html } = templates.write(&letter);
                    let says = |word: &str| text.to_lowercase().contains(word);
                    let case = format!("{file} {language:?} {has_link}\n{subject}\n{text}\n{html}");
                    assert_eq!(says(link_word), has_code && has_link, "{case}");
                    assert_eq!(text.contains(&format!("<{link}>")), has_code && has_link, "{case}");
                    assert_eq!(text.contains("    8k2m-0qwz-7hn4-c9xe\n"), has_code, "{case}");
                    assert!(subject.contains(name.unwrap_or("campus.example")), "{case}");
                    for text in [&subject, &text] {
                        assert!(!text.contains(['{', '}']) && !text.trim().contains("  \n"), "{case}");
                        assert!(![" .", " ,", "()", "<>"].iter().any(|gap| text.contains(gap)), "{case}");
                    }
                    assert!(
                        !html.contains("<p></p>") && html.contains(&format!("lang=\"{}\"", language.tag())),
                        "{case}"
                    );
                }
            }
        }
    }

    #[test]
    fn files_that_make_mail_without_what_it_is_for_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let without = Mail { templates: Some(dir.path().to_owned()), ..config(Language::Ko) };
        let with = Mail { app_url: Some("https://app.example".parse().unwrap()), ..without.clone() };
        let fault = |config: &Mail, file: &str, text: &str| {
            std::fs::write(dir.path().join(file), text).unwrap();
            let error = Templates::new(config).err().map(|error| error.to_string()).unwrap_or_default();
            std::fs::remove_file(dir.path().join(file)).unwrap();
            assert!(error.is_empty() || error.contains(file), "{error}");
            error
        };
        for (file, text, why) in [
            ("layout.html", "<p>{subject}</p>", "has no {body}"),
            ("layout.html", "", "has no {body}"),
            ("reset.md", "A password\n\nHello {id}\n", "neither {code}"),
            ("reset.md", "A password\n", "neither {code}"),
            ("invite.md", "Come to {site}\n\nSoon.\n", "neither {code}"),
            ("confirm.md", "", "no subject"),
            ("test.md", "\nHello\n", "no subject"),
            ("taken.md", " \t\r\n{id}\n", "no subject"),
            ("password-changed.md", "Use {link}\n\nHello\n", "no subject"),
            ("invite.md", "{id}\n\n{code}\n", "no subject"),
        ] {
            for config in [&with, &without] {
                assert!(fault(config, file, text).contains(why), "{file}: {text:?}");
            }
        }
        // Without a page there are no links, and a paragraph is left out as a whole.
        for text in ["Hello\n\n<{link}>\n", "Hello\n\n{code} <{link}>\n"] {
            assert_eq!(fault(&with, "reset.md", text), "");
            assert!(fault(&without, "reset.md", text).contains("neither {code}"), "{text}");
        }
        for (file, text) in [
            ("reset.md", "Hello\n\n{code}\n"),
            ("reset.md", "{code} is your code\n"),
            ("taken.md", "{id}\n"),
            ("layout.html", "{body}"),
        ] {
            assert_eq!(fault(&without, file, text), "", "{file}: {text}");
        }
    }

    #[test]
    fn files_of_the_operator_replace_texts_and_may_name_known_values_only() {
        let dir = tempfile::tempdir().unwrap();
        let config = Mail { templates: Some(dir.path().to_owned()), ..config(Language::En) };
        std::fs::write(dir.path().join("test.md"), "Hello {site}\r\n\r\n{unknown is kept\n").unwrap();
        std::fs::write(dir.path().join("layout.html"), "<p>{body}</p>").unwrap();
        let written = Templates::new(&config).unwrap().write(&letter(Text::Test));
        let expected = Written {
            subject: "Hello Campus".into(),
            text: "{unknown is kept\n".into(),
            html: "<p><p>{unknown is kept</p>\n</p>".into(),
        };
        assert_eq!(written, expected);
        std::fs::write(dir.path().join("reset.md"), "Hello {name}\n").unwrap();
        let error = Templates::new(&config).err().unwrap().to_string();
        assert!(
            error.contains("reset.md has {name}, which is none of id, code, link, minutes, site"),
            "{error}"
        );
    }
}
