//! Entry points for the fuzz targets: each function parses bytes, and panics when the result breaks a guarantee. They are not part
//! of the library's interface and exist only with the feature `fuzzing`.

use std::path::Path;
use std::sync::OnceLock;

use tidings_tokens::tokens;
use tidings_vectors::text_form;

use crate::account::{self, token::Keys};
use crate::base::clock::{Clock, Timestamp};
use crate::base::config::{Config, Secret};
use crate::post::Format;
use crate::record::id::ObjectId;
use crate::transfer::{act, backup, check, member_import, roster_import};
use crate::{Tidings, import, newsfeed, post, search};

pub use crate::import::Read;

/// 2023-11-14T22:13:20Z.
const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);
const KEY: &[u8] = b"a key of thirty-two bytes exactly";
const MEMBER: &str = "ann";

fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    let config = || Config { token_key: Some(Secret(KEY.to_vec().into())), ..Config::default() };
    KEYS.get_or_init(|| {
        // With a key in the settings, no file is read.
        Keys::open(&config(), Path::new(""), Path::new(""), Clock::fixed(NOW))
            .expect("the key is long enough")
    })
}

fn service() -> &'static Tidings {
    static SERVICE: OnceLock<(tempfile::TempDir, Tidings)> = OnceLock::new();
    let (_, tidings) = SERVICE.get_or_init(|| {
        let directory = tempfile::tempdir().expect("there is space for files");
        let opened = Tidings::builder(directory.path().join("fuzz.db")).clock(Clock::fixed(NOW)).open();
        (directory, opened.expect("a new database opens"))
    });
    tidings
}

/// Returns a valid token.
pub fn good_token() -> String {
    keys().sign(MEMBER, 7, None, NOW).expect("a token is signed")
}

/// Parses an access token. A valid one must have the content that was signed.
pub fn token(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    let Some(claims) = keys().verify(text) else { return false };
    assert_eq!((claims.sub.as_str(), claims.generation), (MEMBER, 7), "a forged token: {text:?}");
    let signed = good_token();
    let message = |token: &str| token.rsplit_once('.').map(|(message, _)| message.to_owned());
    assert_eq!(message(text), message(&signed), "a forged token: {text:?}");
    true
}

/// Parses a password hash.
pub fn password_hash(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).is_ok_and(account::credential::password::is_hash)
}

/// Parses a point in time, which must survive being written and parsed again.
pub fn date(bytes: &[u8]) -> bool {
    let read = str::from_utf8(bytes).ok().and_then(Timestamp::parse);
    let Some(time) = read else { return false };
    assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
    true
}

/// Parses an object id, which must be written as the same text in lower case.
pub fn object_id(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    let Some(id) = ObjectId::parse(text) else { return false };
    assert_eq!(id.to_string(), text.to_ascii_lowercase());
    true
}

/// Parses the `next` of a page, which must be written as the same text.
pub fn next(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    let Some(again) = newsfeed::rewritten(text) else { return false };
    assert_eq!(again, text);
    true
}

/// Parses a search. No token may be empty or contain a blank, and a term must be its own term.
pub fn search(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    for token in tokens::tokens(text) {
        assert!(!token.is_empty() && !token.contains(char::is_whitespace), "{token:?}");
    }
    let term = tokens::normalise_term(text);
    assert_eq!(tokens::normalise_term(&term), term);
    search::Search::new(text).is_ok()
}

/// Parses an import of posts in one of its formats. Each post must survive being exported and parsed again.
pub fn posts(format: Format, bytes: &[u8]) -> Read {
    let _ = Format::of("", bytes);
    post::import::read_lines(format, bytes)
}

/// Parses an import of members.
pub fn members(bytes: &[u8]) -> Read {
    import::read_all(member_import::lines(service(), bytes), drop)
}

/// Parses an import of acts.
pub fn acts(bytes: &[u8]) -> Read {
    import::read_all(act::lines(service(), bytes), drop)
}

/// Parses a roster.
pub fn roster(bytes: &[u8]) -> Read {
    import::read_all(roster_import::lines(bytes).expect("reading from memory does not fail"), drop)
}

/// Parses vectors as text, and the model of them in its parts.
pub fn vectors(bytes: &[u8]) -> bool {
    text_form::reread(bytes)
}

/// Runs `check` and `backup` on a database file. Returns whether the backup succeeded.
pub fn database(bytes: &[u8], directory: &Path) -> bool {
    let (file, copy) = (directory.join("given.db"), directory.join("copy.db"));
    std::fs::write(&file, bytes).expect("there is room for files");
    let stop = backup::CancelFlag::default();
    let operator = account::Caller::Operator.operator().expect("the caller is the operator");
    let _ = check::check(operator, &file, &check::Context::default(), &mut |_| (), &stop);
    let copied = backup::backup(operator, &file.clone().into(), &copy, &mut |_| (), &stop).is_ok();
    for end in ["", "-wal", "-shm", "-journal"] {
        let _ = std::fs::remove_file(directory.join(format!("given.db{end}")));
    }
    let _ = std::fs::remove_file(copy);
    copied
}

/// Returns the file of a new database with one post.
pub fn small_database(directory: &Path) -> Vec<u8> {
    let file = directory.join("small.db");
    let tidings = Tidings::builder(&file).clock(Clock::fixed(NOW)).open().expect("a new database opens");
    let draft = post::Draft {
        title: Some("Road to Rust 1.0".into()),
        url: Some("https://blog.rust-lang.org/road".into()),
        post: Some("We have nailed down a list of features.".into()),
        ..post::Draft::default()
    };
    tidings.call(&account::Caller::Operator, post::Insert { draft }).expect("a post is written");
    drop(tidings);
    std::fs::read(file).expect("the file exists")
}
