//! The fields of a post, as arguments.

use clap::Args;
use tidings_core::post::Draft;

use crate::complete::{Kind, ids};
use crate::failure::Failure;
use crate::input::Text;
use crate::output::typed_time;

/// The given fields of a post.
#[derive(Debug, Args)]
pub(crate) struct Fields {
    /// The title, one line of up to 300 characters
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    title: Option<String>,
    /// The address, unique among all posts
    #[arg(long, value_name = "U")]
    url: Option<String>,
    #[command(flatten)]
    post: Text,
    /// The address of an image; empty for none
    #[arg(long, value_name = "U")]
    img: Option<String>,
    /// A category; may be repeated; empty for none
    #[arg(long, value_name = "T", allow_hyphen_values = true, add = ids(Kind::Topic))]
    topic: Option<Vec<String>>,
    /// A tag; may be repeated; empty for none
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    tag: Option<Vec<String>>,
    /// The time of publication, such as "2026-12-05 09:00" or 2026-12-05, in the zone of the database [default for a new post: now]
    #[arg(long, value_name = "D")]
    date: Option<String>,
    /// The time from which the post is no longer shown; empty for none
    #[arg(long, value_name = "D")]
    end_date: Option<String>,
}

impl Fields {
    /// Requires a title and an address, which a new post needs.
    pub(super) fn whole_draft(&self) -> Result<Draft, Failure> {
        let missing =
            [("--title", &self.title), ("--url", &self.url)].into_iter().find(|(_, text)| text.is_none());
        if let Some((argument, _)) = missing {
            return Err(Failure::usage(format!(
                "{argument} is missing: a post needs a title and an address"
            )));
        }
        self.draft()
    }

    pub(super) fn draft(&self) -> Result<Draft, Failure> {
        let names = |list: &Option<Vec<String>>| {
            let given = |list: &Vec<String>| list.iter().filter(|name| !name.is_empty()).cloned().collect();
            list.as_ref().map(given)
        };
        Ok(Draft {
            title: self.title.clone(),
            post: self.post.read()?,
            url: self.url.clone(),
            img: self.img.clone(),
            topic: names(&self.topic),
            tag: names(&self.tag),
            date: self.date.as_deref().map(typed_time),
            end_date: self.end_date.as_deref().map(typed_time),
        })
    }
}
