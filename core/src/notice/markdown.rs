//! Renders Markdown as HTML that is safe to show on a page: without attributes except `href` and `rel` of links and `start` of
//! lists. Raw HTML is shown as text, and an image is a link to it. A link with another scheme than http, https or mailto is shown
//! as its text. Source: <https://spec.commonmark.org/0.31.2/>, without extensions.

use pulldown_cmark::{CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag};

/// In bytes; the rest of the text is left out. A text of 20,000 characters that is meant to be read stays far below it: this
/// bounds how far references to one long address can expand a text.
const OUTPUT_MAX: usize = 512 * 1024;
/// Deeper elements are shown without their tags.
const DEPTH_MAX: usize = 32;
/// In bytes.
const ADDRESS_MAX: usize = 2_000;

const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];

pub(super) fn html(text: &str) -> String {
    let mut html = Html { out: String::with_capacity(text.len() * 5 / 4), open: Vec::new(), links: 0 };
    for event in Parser::new_ext(text, Options::empty()) {
        html.add(event);
    }
    html.out
}

struct Html {
    out: String,
    /// Also contains elements whose tags are left out.
    open: Vec<Open>,
    /// A link contains no other link.
    links: usize,
}

struct Open {
    /// Empty if the element has no tags.
    end: &'static str,
    is_link: bool,
    /// The address of an image, and the position at which its description begins.
    image: Option<(String, usize)>,
}

impl Html {
    fn add(&mut self, event: Event<'_>) {
        // Every element that has begun also ends.
        let is_full = self.out.len() >= OUTPUT_MAX;
        match event {
            Event::Start(tag) => self.start(tag, is_full),
            Event::End(_) => self.end(is_full),
            _ if is_full => {}
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.escape(&text),
            Event::Code(code) => {
                self.out.push_str("<code>");
                self.escape(&code);
                self.out.push_str("</code>");
            }
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>\n"),
            Event::Rule => self.out.push_str("<hr>\n"),
            // Of extensions.
            Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, is_full: bool) {
        let mut open = Open { end: "", is_link: false, image: None };
        if !is_full && self.open.len() < DEPTH_MAX {
            let (begin, end) = tags(&tag);
            match &tag {
                Tag::List(Some(start)) if *start != 1 => {
                    self.out.push_str("<ol start=\"");
                    self.out.push_str(&start.to_string());
                    self.out.push_str("\">\n");
                }
                _ => self.out.push_str(begin),
            }
            open.end = end;
            if let Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. } = &tag {
                open.is_link = self.links == 0 && self.link(*link_type, dest_url);
                open.end = if open.is_link { "</a>" } else { "" };
                self.links += usize::from(open.is_link);
            }
        }
        if let Tag::Image { dest_url, .. } = tag
            && dest_url.len() <= ADDRESS_MAX
        {
            open.image = Some((dest_url.into_string(), self.out.len()));
        }
        self.open.push(open);
    }

    fn end(&mut self, is_full: bool) {
        let Some(open) = self.open.pop() else { return };
        if let Some((address, begin)) = open.image
            && begin == self.out.len()
            && !is_full
        {
            self.escape(&address);
        }
        self.links -= usize::from(open.is_link);
        self.out.push_str(open.end);
    }

    /// Returns false if the address is not allowed.
    fn link(&mut self, link_type: LinkType, address: &CowStr<'_>) -> bool {
        let scheme = if link_type == LinkType::Email { "mailto:" } else { "" };
        let address = format!("{scheme}{address}");
        let begins =
            |with: &str| address.get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with));
        let is_link = address.len() <= ADDRESS_MAX
            && SCHEMES.into_iter().any(begins)
            && !address.contains(|c: char| c.is_control() || c.is_whitespace());
        if is_link {
            self.out.push_str("<a href=\"");
            self.escape(&address);
            self.out.push_str("\" rel=\"nofollow noopener\">");
        }
        is_link
    }

    fn escape(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                '\'' => self.out.push_str("&#39;"),
                c => self.out.push(c),
            }
        }
    }
}

/// Empty for links and images, and for the elements of extensions.
const fn tags(tag: &Tag<'_>) -> (&'static str, &'static str) {
    match tag {
        Tag::Paragraph | Tag::HtmlBlock => ("<p>", "</p>\n"),
        Tag::Heading { level, .. } => match level {
            HeadingLevel::H1 => ("<h1>", "</h1>\n"),
            HeadingLevel::H2 => ("<h2>", "</h2>\n"),
            HeadingLevel::H3 => ("<h3>", "</h3>\n"),
            HeadingLevel::H4 => ("<h4>", "</h4>\n"),
            HeadingLevel::H5 => ("<h5>", "</h5>\n"),
            HeadingLevel::H6 => ("<h6>", "</h6>\n"),
        },
        Tag::BlockQuote(_) => ("<blockquote>\n", "</blockquote>\n"),
        Tag::CodeBlock(_) => ("<pre><code>", "</code></pre>\n"),
        Tag::List(Some(_)) => ("<ol>\n", "</ol>\n"),
        Tag::List(None) => ("<ul>\n", "</ul>\n"),
        Tag::Item => ("<li>", "</li>\n"),
        Tag::Emphasis => ("<em>", "</em>"),
        Tag::Strong => ("<strong>", "</strong>"),
        _ => ("", ""),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_elements_of_a_text_are_rendered() {
        let text = "# Library\n\nOpen *until* **ten**,\nnot `nine`.  \nReally.\n\n- one\n- two\n\n3. three\n\n> quoted\n\n\
                    ```sh\na < b\n```\n\n---\n";
        let expected = "<h1>Library</h1>\n<p>Open <em>until</em> <strong>ten</strong>,\nnot <code>nine</code>.<br>\n\
                        Really.</p>\n<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n<ol start=\"3\">\n<li>three</li>\n</ol>\n\
                        <blockquote>\n<p>quoted</p>\n</blockquote>\n<pre><code>a &lt; b\n</code></pre>\n<hr>\n";
        assert_eq!(html(text), expected);
    }

    #[test]
    fn a_list_goes_on_with_its_number() {
        let text = "1. first\n\nA paragraph.\n\n2. second\n\n- x\n\n0. zero";
        let expected = "<ol>\n<li>first</li>\n</ol>\n<p>A paragraph.</p>\n<ol start=\"2\">\n<li>second</li>\n</ol>\n\
                        <ul>\n<li>x</li>\n</ul>\n<ol start=\"0\">\n<li>zero</li>\n</ol>\n";
        assert_eq!(html(text), expected);
    }

    #[test]
    fn links_have_an_allowed_scheme_or_are_text() {
        let link =
            |address: &str| format!("<p><a href=\"{address}\" rel=\"nofollow noopener\">here</a></p>\n");
        for address in ["https://a.example/?b=1", "HTTP://a.example", "mailto:ann@a.example"] {
            assert_eq!(html(&format!("[here](<{address}> \"title\")")), link(address));
        }
        assert_eq!(html("[here](https://a.example/\"'&)"), link("https://a.example/&quot;&#39;&amp;"));
        for address in
            ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,a", "/path", "//a.example", "x"]
        {
            assert_eq!(html(&format!("[here](<{address}>)")), "<p>here</p>\n", "{address}");
        }
        assert_eq!(html(&format!("[here](https://a.example/{})", "a".repeat(2_000))), "<p>here</p>\n");
        let automatic =
            "<p><a href=\"mailto:ann@a.example\" rel=\"nofollow noopener\">ann@a.example</a></p>\n";
        assert_eq!(html("<ann@a.example>"), automatic);
    }

    #[test]
    fn an_image_is_a_link_to_it() {
        let link = |text: &str| {
            format!("<p><a href=\"https://a.example/a.png\" rel=\"nofollow noopener\">{text}</a></p>\n")
        };
        assert_eq!(html("![a cat](https://a.example/a.png)"), link("a cat"));
        assert_eq!(html("![](https://a.example/a.png)"), link("https://a.example/a.png"));
        assert_eq!(html("![](cat.png)"), "<p>cat.png</p>\n");
        let within = html("[![a cat](https://b.example/b.png)](https://a.example/a.png)");
        assert_eq!(within, link("a cat"));
    }

    #[test]
    fn raw_html_is_text() {
        let bold = html("a <b onclick=\"x()\">c</b>");
        assert_eq!(bold, "<p>a &lt;b onclick=&quot;x()&quot;&gt;c&lt;/b&gt;</p>\n");
        let script = html("<script>\nalert(1)\n</script>");
        assert_eq!(script, "<p>&lt;script&gt;\nalert(1)\n&lt;/script&gt;</p>\n");
    }

    #[test]
    fn the_output_of_a_hostile_text_is_bounded() {
        let long = format!("[a]: https://a.example/{}\n\n{}", "b".repeat(1_900), "[a] ".repeat(4_000));
        for text in
            [long, "> ".repeat(10_000), "* ".repeat(10_000), "[".repeat(20_000), "*a **b ".repeat(2_800)]
        {
            let html = html(&text);
            assert!(html.len() < OUTPUT_MAX + 4_000, "{}", html.len());
            check(&html);
        }
    }

    /// Checks that a text has only the allowed tags and attributes, and that each tag is closed in order.
    fn check(html: &str) {
        let mut open = Vec::new();
        for part in html.split('<').skip(1) {
            let (tag, text) = part.split_once('>').expect("each tag ends");
            assert!(!text.contains(['>', '"', '\'']), "{part}");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name), "{html}");
            } else if let Some(rest) = tag.strip_prefix("a href=\"") {
                let (address, rest) = rest.split_once('"').unwrap();
                assert_eq!(rest, " rel=\"nofollow noopener\"");
                let address = address.to_ascii_lowercase();
                assert!(SCHEMES.iter().any(|scheme| address.starts_with(scheme)));
                open.push("a");
            } else if let Some(number) = tag.strip_prefix("ol start=\"") {
                assert!(number.trim_end_matches('"').parse::<u32>().is_ok(), "{tag}");
                open.push("ol");
            } else if !["br", "hr"].contains(&tag) {
                let known =
                    ["p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code", "ol", "ul", "li"];
                assert!(known.contains(&tag) || ["em", "strong"].contains(&tag), "{tag}");
                open.push(tag);
            }
        }
        assert!(open.is_empty(), "{html}");
    }

    proptest! {
        #[test]
        fn no_text_makes_an_unsafe_page(
            any in ".{0,200}",
            parts in proptest::collection::vec(proptest::sample::select(&[
                "<script>", "</script>", "<img src=x onerror=a>", "[a](javascript:b)", "![", "](", ")", "[", "]", "<", ">",
                "\"", "'", "`", "```\n", "*", "**", "_", "# ", "> ", "- ", "1. ", "\n", "\n\n", "    ", "&lt;", "&#60;",
                "<https://a.b>", "<a@b.c>", "[a]: https://b.c/\"d\n", "<!--", "-->", "\\", "a", "href=\"", "\0", "한",
            ][..]), 0..60),
        ) {
            for text in [any, parts.concat()] {
                check(&html(&text));
            }
        }
    }
}
