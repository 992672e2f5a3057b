//! `tidings post list` and `tidings post show`: the posts.

use std::process::ExitCode;

use clap::Args;
use tidings_client::shown::number::{count, number};
use tidings_core::post::{Get, LIST_MAX, List, ListCategories};

use crate::complete::{Kind, ids};
use crate::failure::Failure;
use crate::output::{Column, Style, Table, dated, local, stream_pages};
use crate::session::{Session, unknown};

#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// Only posts of this topic or tag
    #[arg(long, value_name = "T", allow_hyphen_values = true, add = ids(Kind::Topic))]
    topic: Option<String>,
    /// The maximum number, 1 to 1000 [default: 100, with --ndjson all]
    #[arg(long, value_name = "N")]
    limit: Option<i64>,
    /// Continue after the page that returned this as its next
    #[arg(long, value_name = "X")]
    next: Option<String>,
}

pub(crate) fn table() -> Table {
    Table::new([
        Column::whole("ID"),
        Column::text("Title"),
        Column::number("Views").optional(),
        Column::number("Likes").optional(),
        Column::whole(dated("Date")).optional(),
        Column::text("Address").optional(),
    ])
}

pub(super) fn list(session: &Session, options: &ListOptions) -> Result<ExitCode, Failure> {
    let Session { service, out } = session;
    let (service, topic) = (service.as_reader(), &options.topic);
    if out.streams() {
        return stream_pages(options.limit, options.next.clone(), |next, left| {
            let list = List { topic: topic.clone(), limit: Some(left.min(LIST_MAX)), next };
            let page = service.call(list)?;
            Ok((page.posts, page.next))
        });
    }
    let list = List { topic: topic.clone(), limit: options.limit, next: options.next.clone() };
    let posts = service.call(list)?;
    out.answer(&posts, |page| {
        let mut table = table();
        for post in &posts.posts {
            let (id, title, url) = (post.id.clone(), post.title.clone(), post.url.clone());
            table.row([id, title, number(post.view), number(post.fav_cnt), local(post.date), url]);
        }
        let none = if topic.is_some() { "No post has this topic." } else { "There are no posts." };
        page.table(&table, none);
        if let Some(next) = &posts.next {
            page.note(&format!("There are more: --next {next}"));
        }
    })
}

pub(super) fn categories(session: &Session) -> Result<ExitCode, Failure> {
    let found = session.service.as_reader().call(ListCategories {})?;
    session.out.list(&found, &found.categories, |page| {
        let mut table = Table::new([Column::text("Category"), Column::number("Posts")]);
        for category in &found.categories {
            table.row([category.category_name.clone(), number(category.posts)]);
        }
        page.table(&table, "No post has a topic.");
    })
}

pub(super) fn one(session: &Session, id: &str) -> Result<ExitCode, Failure> {
    let found = session.service.as_reader().call(Get { post_obi: id.to_owned() });
    let found = found.map_err(|error| unknown(error, "post", id))?;
    session.out.answer(&found, |page| {
        let (shown, detail) = (&found.post.shown, &found.post);
        page.styled(Style::Strong, &shown.title);
        page.line(&shown.url);
        let (views, likes) = (count(shown.view, "view"), count(shown.fav_cnt, "like"));
        page.styled(Style::Faint, format!("{}, {views}, {likes}", local(shown.date)));
        let (topics, tags) = (detail.topic.texts().join(", "), detail.tag.texts().join(", "));
        let end = shown.end_date.map(local).unwrap_or_default();
        let fields = [("Topics", topics), ("Tags", tags), ("Image", shown.img.clone()), ("Shown until", end)];
        let given: Vec<_> = fields.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        page.fields(&given);
        if !detail.post.is_empty() {
            page.line("");
            page.block(&detail.post);
        }
    })
}
