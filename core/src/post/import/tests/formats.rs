//! Tests of posts in CSV, and of the export, which an import reads.

use super::*;
use crate::admin;
use crate::post::ExportPosts;
use crate::record::export::{Export as _, ExportLines as _, Take};

pub(super) fn import_as(service: &Service, format: Format, input: &[u8]) -> Result<Report> {
    ImportPosts { format, charset: None }.import(service, &Caller::Operator, input, &mut to_the_end)
}

fn export(service: &Service, caller: &Caller, take: Take<'_>) -> Result<u64> {
    ExportPosts {}.export(service, caller).pass_to(service, take)
}

fn import_csv(service: &Service, input: &[u8]) -> Report {
    bare(import_as(service, Format::Csv, input))
}

fn exported(service: &Service) -> String {
    let mut lines = Vec::new();
    let report = export(service, &Caller::Operator, &mut |some, _| {
        lines.extend_from_slice(some);
        ControlFlow::Continue(())
    });
    let text = String::from_utf8(lines).unwrap();
    assert_eq!(report.unwrap(), text.lines().count() as u64);
    text
}

/// Returns the exported posts, ordered by url.
pub(super) fn posts(service: &Service) -> Vec<Value> {
    let mut posts: Vec<Value> =
        exported(service).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    posts.sort_by_key(|post| post["url"].to_string());
    posts
}

#[test]
fn the_name_or_else_the_beginning_of_a_file_determines_the_format() {
    for (name, head, format) in [
        ("posts.jsonl", "x", Format::Json),
        ("posts.NDJSON", "", Format::Json),
        ("posts.csv", "{", Format::Csv),
        ("/a.b/feed.rss", "", Format::Feed),
        ("feed.atom", "", Format::Feed),
        ("feed.xml", "{", Format::Feed),
        ("-", "\u{feff} <?xml", Format::Feed),
        ("feed.json", "{\"version\": \"https://jsonfeed.org/version/1.1\"", Format::Feed),
        ("posts.json", " [{\"title\"", Format::Json),
        ("-", "{\"title\"", Format::Json),
        ("-", "title,url\n", Format::Csv),
        ("-", "", Format::Json),
    ] {
        assert_eq!(Format::of(name, head.as_bytes()), format, "{name} {head}");
    }
}

#[test]
fn csv_columns_are_fields_by_name() {
    let service = testing::service();
    let input = "\u{feff}Title, url ,post,topic,tag,date,end_date,view,fav_cnt,_id,unknown\r\n\
                 \"One, and a half\",https://example.com/1,\"Some\ntext.\",\"a,b\",x;y,2026-01-01,,7,2,\
                 0123456789abcdef01234567,z\r\n\
                 \r\n\
                 Two,https://example.com/2\n";
    assert_eq!(import_csv(&service, input.as_bytes()), report(2, 0, 0, &[]));
    let found = posts(&service);
    let expected = json!({
        "_id": "0123456789abcdef01234567", "title": "One, and a half", "post": "Some\ntext.",
        "url": "https://example.com/1", "img": "", "topic": ["a", "b"], "tag": ["x", "y"],
        "date": "2026-01-01T00:00:00.000Z", "end_date": null, "view": 7, "fav_cnt": 2,
    });
    assert_eq!(found[0], expected);
    assert_eq!((&found[1]["title"], &found[1]["post"]), (&json!("Two"), &json!("")));
    assert_eq!(import_csv(&service, input.as_bytes()), report(0, 0, 2, &[]));
    assert_eq!(import_csv(&service, b"url,tag\nhttps://example.com/1,\n"), report(0, 1, 0, &[]));
    assert_eq!(posts(&service)[0]["tag"], json!([]));
}

#[test]
fn csv_of_spreadsheets_is_read_in_its_encoding_and_with_its_separator() {
    let text = "title;url;topic\r\n\"도서관 안내; 겨울\";https://c.example/1;공지\r\n학생식당;https://c.example/2;식단\r\n";
    let wide = |mark: &str, bytes: fn(u16) -> [u8; 2]| {
        (mark.to_owned() + text).encode_utf16().flat_map(bytes).collect::<Vec<u8>>()
    };
    let with = |separator: &str| text.replace("; ", ": ").replace(';', separator);
    let korean = |text: &str| encoding_rs::EUC_KR.encode(text).0.into_owned();
    let without_end = korean(text.trim_end());
    for (input, encoding) in [
        (text.as_bytes().to_vec(), None),
        (with("\t").into_bytes(), None),
        (korean(text), Some("EUC-KR")),
        (without_end, Some("EUC-KR")),
        (korean(&with(",")), Some("EUC-KR")),
        (
            encoding_rs::SHIFT_JIS.encode(&text.replace(|c| c >= '가', "図書館の案内")).0.into(),
            Some("Shift_JIS"),
        ),
        (wide("", u16::to_le_bytes), Some("UTF-16LE")),
        (wide("\u{feff}", u16::to_le_bytes), Some("UTF-16LE")),
        (wide("\u{feff}", u16::to_be_bytes), Some("UTF-16BE")),
    ] {
        let service = testing::service();
        let imported = import_as(&service, Format::Csv, &input).unwrap();
        let told = encoding.map(|name| format!("the file is not UTF-8, and was read as {name}"));
        assert_eq!(imported.warnings, Vec::from_iter(told), "{encoding:?}");
        assert_eq!(bare(Ok(imported)), report(2, 0, 0, &[]), "{encoding:?}");
        let title = posts(&service)[0]["title"].as_str().unwrap().to_owned();
        let is_right = title.starts_with("도서관 안내") || title.starts_with("図書館の案内");
        assert!(is_right, "{title} {encoding:?}");
    }
}

#[test]
fn csv_may_have_the_line_ends_of_old_macs() {
    let service = testing::service();
    let input = b"title,url\rA,https://c.example/1\r\"B\rb\",https://c.example/2\r";
    let errors = [(3, "title is 1 to 300 characters on one line")];
    assert_eq!(import_csv(&service, input), report(1, 0, 0, &errors));
}

#[test]
fn a_line_of_csv_with_too_many_values_or_an_open_quote_is_reported() {
    let service = testing::service();
    let too_many = "it has more values than the first line has names: put a text with a comma in quotes";
    let open = "a quote in it is not closed: what follows is not read";
    let input = "title,url\nOne,https://example.com/1,,\nTwo,https://example.com/2, or not\n\
                 \"Three,https://example.com/3\nFour,https://example.com/4\n";
    for input in [input, input.trim_end()] {
        let report = import_csv(&service, input.as_bytes());
        assert_eq!(report.errors, super::report(0, 0, 0, &[(3, too_many), (4, open)]).errors);
        assert_eq!(report.inserted + report.skipped, 1);
    }
    let closed = b"title,url,post\nOne,https://example.com/1,\"a \"\"quote\"\"\n\"";
    assert_eq!(import_csv(&service, closed), report(0, 1, 0, &[]));
    assert_eq!(posts(&service)[0]["post"], "a \"quote\"\n");
}

#[test]
fn each_bad_line_of_csv_is_reported_and_the_others_are_imported() {
    let service = testing::service();
    let input = b"url,title,view\n\
                  https://example.com/1,One,x\n\
                  \n\
                  nowhere,Two,\n\
                  https://example.com/3,\"Th\xffree\",\n\
                  https://example.com/4,,\n\
                  https://example.com/5,Five,5\n";
    let errors = [
        (2, "view is a whole number, 0 to 9007199254740992"),
        (4, "url is an address of at most 2000 characters that begins with http:// or https://"),
        (5, "it is not UTF-8: save the file in that encoding"),
        (6, "title is missing, and there is no post with this url yet"),
    ];
    assert_eq!(import_csv(&service, input), report(1, 0, 0, &errors));
    let none = "the first line names the fields, and url is not among them: \
                title,url,post,img,topic,tag,date,end_date";
    assert_eq!(import_csv(&service, b"a,b\nc,d\n"), report(0, 0, 0, &[(1, none)]));
    assert_eq!(import_csv(&service, b""), report(0, 0, 0, &[]));
}

#[test]
fn unknown_columns_are_reported_as_written() {
    let service = testing::service();
    let input = format!("url,Titel,title, \u{1b}[2J,,VIEW{}\n", ",more".repeat(20));
    let imported = import_as(&service, Format::Csv, input.as_bytes()).unwrap();
    let unknown = imported.about.unknown_columns;
    assert_eq!((&unknown[..3], unknown.len()), (&["Titel", "\u{1b}[2J", "more"].map(str::to_owned)[..], 10));
}

#[test]
fn an_unclosed_quote_does_not_exhaust_memory() {
    let service = testing::service();
    let mut input = b"url,title\nhttps://example.com/1,One\nhttps://example.com/2,\"".to_vec();
    let end = input.len();
    input.resize(end + 4 * LINE_MAX, b'a');
    let reason = "it is longer than 1 MiB, or a quote in it is not closed: what follows is not read";
    assert_eq!(import_csv(&service, &input), report(1, 0, 0, &[(3, reason)]));
    let fits = format!("url,title,post\nhttps://example.com/2,Two,{}\n", "a".repeat(90_000));
    assert_eq!(import_csv(&service, fits.as_bytes()), report(1, 0, 0, &[]));
}

#[test]
fn an_imported_export_is_exported_with_the_same_bytes() {
    let service = testing::service();
    import_from(&service, RUST_BLOG);
    let strange = json!({
        "title": "한글 \"and\" \\ 🦀", "url": "https://example.com/?a=1&b=%20", "post": "tab\there\nline\u{2028}",
        "topic": ["a,b", "c;d"], "tag": ["\u{1f980}"], "end_date": "2030-01-01T00:00:00.123Z", "view": 9, "fav_cnt": 4,
    });
    import_from(&service, &(0..250).map(|n| post(n).to_string() + "\n").collect::<String>());
    import_from(&service, &strange.to_string());
    let first = exported(&service);
    assert_eq!(first.lines().count(), 291);

    let other = testing::service();
    assert_eq!(import_from(&other, &first), report(291, 0, 0, &[]));
    assert!(exported(&other) == first, "to the byte");
    assert_eq!(import_from(&service, &first), report(0, 0, 291, &[]));
}

#[test]
fn an_export_can_be_cancelled_and_ends_if_the_caller_is_no_longer_an_administrator() {
    let service = testing::service();
    import_from(&service, &(0..250).map(|n| post(n).to_string() + "\n").collect::<String>());
    let stopped = export(&service, &Caller::Operator, &mut |_, _| ControlFlow::Break(())).unwrap();
    assert!((1..250).contains(&stopped));
    let (ann, _) = (service.admin("ann"), service.admin("ben"));
    let mut pages = 0;
    let ended = export(&service, &ann, &mut |_, _| {
        pages += 1;
        service.call(&Caller::Operator, admin::Revoke { user_id: "ann".into() }).unwrap();
        ControlFlow::Continue(())
    });
    assert!(matches!(ended, Err(Error::Forbidden)));
    assert_eq!(pages, 1);
}
