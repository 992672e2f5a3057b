//! The material of inputs: examples that are valid or almost valid, and tokens that the parsers recognise.

use tidings_core::fuzzing as core;

const RUST_BLOG: &str = include_str!("../../data/rust-blog.jsonl");

/// Tokens of JSON, and the names of its fields.
pub const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "null",
    "true",
    "\\u0000",
    "\\ud800",
    "\\udc00",
    "\n",
    "\"title\":",
    "\"post\":",
    "\"url\":",
    "\"tag\":",
    "\"topic\":",
    "\"date\":",
    "\"id\":",
    "\"_id\":",
    "\"type\":",
    "\"limit\":",
    "\"view\":",
    "[[[[[[[[[[[[[[[[",
    "{\"a\":{\"a\":{\"a\":",
    "\u{feff}",
];
pub const FORM: &[&str] =
    &["&", "=", "+", "%20", "%FF", "title", "post", "limit", "tag", "a,b", "%F0%9F%A6%80"];
pub const FEED: &[&str] = &[
    "<item>",
    "</item>",
    "<entry>",
    "<title>",
    "<![CDATA[",
    "]]>",
    "&lt;",
    "&#x0;",
    "&#1114112;",
    "<!DOCTYPE a [",
    "<!ENTITY a \"b\">",
    "&a;",
    "<link href=\"",
    "<pubDate>",
    "<content:encoded>",
    "<br",
    "<a href='",
    "<media:thumbnail url=\"http://a/b\"/>",
    "xmlns=\"http://www.w3.org/2005/Atom\"",
    "\"items\":[",
    "<ul><li>",
    "</p>",
    "&amp;",
];

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

pub fn paths() -> Vec<Vec<u8>> {
    texts(&[
        "/healthz",
        "/get_notice/6560c1a2ffeeddccbbaa0001",
        "/category_search/a%2Fb%20c/30",
        "/get_newsfeed_of_topic/%ED%95%99%EA%B5%90",
        "/get_log_date/0/1/0/1000",
        "/get_specific_userinfo/1",
        "/remove_notice/x",
        "/openapi.json",
        "/docs/index.html",
    ])
}

pub fn forms() -> Vec<Vec<u8>> {
    texts(&[
        "title=A+%26+B%3A+%EB%8C%80%ED%95%99&limit=0&tag=x&tag=y+z",
        "post=text&tag=x%2C+y+z,&limit=-9223372036854775808",
        "&title=a&&title=b&flag&more[a]=1",
    ])
}

pub fn json() -> Vec<Vec<u8>> {
    texts(&[
        r#"{"title": "A & B: 대학", "limit": 0, "tag": ["x", "y z"], "more": {"a": [1, 2.5, null]}}"#,
        r#"{"title":"\u00e9\ud83e\udd80\n","post":null,"limit":9223372036854775807,"tag":[]}"#,
        "{}",
    ])
}

/// A content type, a line break, and a body.
pub fn bodies() -> Vec<Vec<u8>> {
    texts(&[
        "application/json; charset=utf-8\n{\"title\":\"a\",\"limit\":1}",
        "application/x-www-form-urlencoded\ntitle=a&limit=1",
        "text/plain\nx",
        "application/json\n",
    ])
}

pub fn authorization() -> Vec<Vec<u8>> {
    let mut values = texts(&["Bearer a.b.c", "bearer  x", "Basic YTpi", "Bearer a\nBearer b"]);
    values.push(format!("Bearer {}", core::good_token()).into_bytes());
    values
}

pub fn forwarded_for() -> Vec<Vec<u8>> {
    texts(&[
        "1.2.3.4, 198.51.100.1, 10.1.1.1",
        "[2001:db8::5]:4711, fd00::1",
        "198.51.100.1:4711\n10.1.1.1",
        "::ffff:10.0.0.1, unknown",
    ])
}

pub fn accept_encoding() -> Vec<Vec<u8>> {
    texts(&["gzip, deflate, br", "*;q=0.5, gzip;q=0", "x-gzip;q=1.0, identity; q=0\n*"])
}

pub fn settings() -> Vec<Vec<u8>> {
    texts(&["/api/v1/", "https://app.example.org:8080", "http://[::1]", "10.0.0.0/8", "fd00::/8"])
}

pub fn tokens() -> Vec<Vec<u8>> {
    let good = core::good_token();
    let payload = good.split('.').nth(1).unwrap_or_default().to_owned();
    let none = format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{payload}.");
    texts(&[&good, &none, "eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.e30.AAAA", "a.b.c"])
}

pub fn password_hashes() -> Vec<Vec<u8>> {
    let (short, long) = ("ab".repeat(32), "cd".repeat(64));
    texts(&[
        "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5bm9ib2R5bm9ibw$dDnUGUH+JbWWAo5VAhEnJcUfPWqYBqPTlWcYqmtiM1Y",
        "$argon2i$v=16$m=65536,t=3,p=4$c29tZXNhbHQ$iWh06vD8Fy27wf9npn6FXWiCX4K6pW6Ue1Bnzz07Z8A",
        &format!("pbkdf2:sha256:600000$salt${short}"),
        &format!("scrypt:32768:8:1$salt${long}"),
        "$2b$12$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e",
        "",
    ])
}

pub fn dates() -> Vec<Vec<u8>> {
    texts(&[
        "2026-11-20T08:36:00Z",
        "2026-11-20T17:36:00.123456789+09:00",
        "2026-11-20",
        "0000-01-01T00:00:00Z",
        "9999-12-30T22:00:00.999Z",
        "2026-11-20T08:36:60Z",
        "-009999-01-02T01:59:59Z",
    ])
}

pub fn searches() -> Vec<Vec<u8>> {
    texts(&[
        "The borrow checker's rules, don't you think?",
        "학교에서 도서관까지 e-mail C++ node.js",
        "東京タワー ﬁne Ⅷ ½ naïve e\u{301}\u{301}",
        "a_b.c-d/e 1,234.56 #rust @home 🦀🦀",
    ])
}

pub fn posts_json() -> Vec<Vec<u8>> {
    let mut examples: Vec<Vec<u8>> = RUST_BLOG.lines().take(3).map(|line| line.as_bytes().to_vec()).collect();
    examples.extend(texts(&[
        r#"[{"title":"a","url":"https://e.example/1","topic":"x, y","tag":["z"]} , {"title":"b","url":"http://E.example:80/2?q#f","end_date":""}]"#,
        r#"{"_id":"6560c1a2ffeeddccbbaa0001","title":"é","post":"line\nline","url":"https://학교.example/a b","img":"/a.png","topic":["x"],"tag":[],"date":"2026-11-20T08:36:00+09:00","end_date":null,"view":9007199254740992,"fav_cnt":0}"#,
        "\u{feff}\n{\"title\":\"a\",\"url\":\"https://e.example/1\",\"view\":3}\n\n{\"url\":\"x\"}\n",
    ]));
    examples
}

pub fn posts_csv() -> Vec<Vec<u8>> {
    texts(&[
        "title,url,post,img,topic,tag,date,end_date\na,https://e.example/1,\"text, \"\"quoted\"\"\nline\",,x;y,z,2026-11-20,\n",
        "\u{feff}URL , title ,view,unknown\r\nhttps://e.example/2,b,7,?\r\n",
    ])
}

pub fn feeds() -> Vec<Vec<u8>> {
    texts(&[
        r#"<?xml version="1.0"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>t</title><link>https://e.example/</link><item><title>A &amp; B</title><link>https://e.example/1</link><guid>https://e.example/1</guid><category>x</category><pubDate>Fri, 20 Nov 2026 08:36:00 GMT</pubDate><description>&lt;p&gt;short&lt;/p&gt;</description><content:encoded><![CDATA[<p>long <b>text</b> &nbsp; <a href="https://e.example/2">link</a></p><ul><li>one</ul>]]></content:encoded><media:thumbnail url="https://e.example/a.png"/></item></channel></rss>"#,
        r#"<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><id>u</id><updated>2026-11-20T08:36:00Z</updated><entry><title type="html">a &lt;b&gt;</title><id>https://e.example/3</id><link rel="alternate" href="https://e.example/3"/><updated>2026-11-20T08:36:00Z</updated><category term="x" label="X"/><summary>short</summary><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>long</p></div></content></entry></feed>"#,
        r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><title>t</title><link>https://e.example/</link></channel><item><title>a</title><link>https://e.example/4</link><description>d</description></item></rdf:RDF>"#,
        r#"{"version":"https://jsonfeed.org/version/1.1","title":"t","items":[{"id":"https://e.example/5","url":"https://e.example/5","title":"a","content_html":"<p>x</p>","tags":["y"],"date_published":"2026-11-20T08:36:00Z"}]}"#,
    ])
}

/// Feeds with the faults that real ones have.
pub fn odd_feeds() -> Vec<Vec<u8>> {
    let mut examples = feeds();
    examples.extend(texts(&[
        "<!DOCTYPE rss [<!ENTITY co \"ACME &amp; &b;\"><!ENTITY b '<i>x'>]><rss version=\"0.94\"><channel><title>&co;<item><title>a < b & c</titel><link>https://e.example/?a=1&b=2</link><guid>x</guid><pubDate>2026.11.20 오후 5:36</pubDate><description><pre>\n&lt;p>x</pre> <br> y</item><item rdf:about=/1>",
        "<rdf:RDF xml:base='https://e.example/a/' xmlns='http://my.netscape.com/rdf/simple/0.9/'><channel><link>/b</link></channel><item><title>Don&#146;t</title><link>1</link><dc:date>2026-W47-5T24:00:00</dc:date><dc:subject>x</dc:subject></item></rdf:RDF>",
        "<feed version='0.3' xmlns='http://purl.org/atom/ns#'><entry><title type='text/html' mode='base64'>YSA8Yj4=</title><content type='application/xhtml+xml'><div>a<noscript><img src='i.jpg' alt='b'/></noscript><script/>c</div></content><issued>Fri, 20 Nov 26 08:36 EST</issued><link rel='enclosure' type='image/png' href='//e.example/i'/></entry></feed>",
        "{\"version\":\"http://jsonfeed.org/version/1\",\"items\":[{\"id\":1,\"url\":\"/1\",\"content_html\":\"<td>a<td>Vec<T>\",\"tags\":\"a,b\",\"date_modified\":\"20261120T0836Z\"},2]}",
    ]));
    let wide =
        "<?xml version='1.0' encoding='UTF-16'?><rss><channel><item><title>글</title></item></channel></rss>";
    examples.push([0xfeff].into_iter().chain(wide.encode_utf16()).flat_map(u16::to_be_bytes).collect());
    examples
}

pub fn members() -> Vec<Vec<u8>> {
    let hash = "ab".repeat(32);
    texts(&[
        &format!(
            r#"{{"id":"ann","nickname":"Ann","password_hash":"pbkdf2:sha256:600000$salt${hash}","name":"Ann","major":"Physics","date":"2020-01-02"}}"#
        ),
        "{\"id\":\"ben.2\"}\n{\"id\":\"eve\",\"name\":\"한\u{301}글\",\"major\":null}\n",
        r#"[{"id":"ann"},{"id":"guest"}]"#,
    ])
}

pub fn acts() -> Vec<Vec<u8>> {
    texts(&[
        r#"{"id":"ann","type":"view","url":"https://e.example/1","date":"2020-01-02T03:04:05Z"}"#,
        "{\"id\":\"ann\",\"type\":\"search\",\"search\":\"the borrow checker\",\"date\":\"2020-01-02\"}\n{\"id\":\"ann\",\"type\":\"newsfeed\",\"newsfeed_name\":\"rust\",\"date\":\"1970-01-01T00:00:00Z\"}\n",
        r#"[{"id":"ann","type":"like","url":" https://e.example/1 ","date":"2020-01-02T03:04:05Z"}]"#,
    ])
}

pub fn roster() -> Vec<Vec<u8>> {
    texts(&[
        "id,name,major,password\n2026001,Ann Lee,Physics,secret words\n2026002,\"Ben, Jr.\",,\"a\"\"b\"\n",
        "\u{feff}PASSWORD; ,id,name\r\n\r\nx,1,y\r\n",
    ])
}

pub fn vectors() -> Vec<Vec<u8>> {
    texts(&[
        "4 3\nrust 1 0 0.5\ncargo 0 1 -0.25\nnew_york 1e-3 -2 .5\n학교에서 1 1 1\n",
        "rust 1 0 \r\ncargo 0 1\r\n",
        "2 2\nthe 1 1\nnew york 1 1\nrust 3.4e38 1\n",
    ])
}

pub fn databases() -> Vec<Vec<u8>> {
    let directory = tempfile::tempdir().expect("creating a temporary directory failed");
    vec![core::small_database(directory.path())]
}
