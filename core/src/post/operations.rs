use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::draft::Change;
use super::rows::{self, DerivedChanges, New};
use super::token_fields::TokenFields;
use super::{Categories, Draft, GetPost, duplicate_url, known, sql};
use crate::account::{Admin, Call, Identity, Transaction};
use crate::analysis::Guest;
use crate::audit::trail::{Action, Entry};
use crate::record::answer::Inserted;
use crate::record::error::{Error, Pending, Result};
use crate::record::id::ObjectId;
use crate::record::operation::{Access, Failure, Operation, Spec, Work};
use crate::record::scope::Scope;
use crate::store::{Isolation, Tx};

const GROUP: &str = "post";
const ADMINS: Access = Access::Admins(Scope::Posts);

/// Get a post
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Get {
    /// The `_id` of the post
    #[schema(value_type = ObjectId)]
    pub post_obi: String,
}

impl Transaction for Get {
    type By = ();
    type Answer = GetPost;
    const SPEC: Spec = Spec::get(GROUP, "/get_post/{post_obi}", Access::Open)
        .public()
        .works(Work::Few)
        .or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, (): &(), _: &Identity) -> Result<GetPost> {
        sql::get(tx, &known(ObjectId::parse(&self.post_obi))?)
    }
}

/// List categories, largest first
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListCategories {}

impl Transaction for ListCategories {
    type By = ();
    type Answer = Categories;
    const SPEC: Spec = Spec::get(GROUP, "/get_categories", Access::Open).public();

    fn run(&self, tx: &mut dyn Tx, (): &(), _: &Identity) -> Result<Categories> {
        Ok(Categories { categories: sql::categories(tx)? })
    }
}

/// View a post
///
/// Counts a view and records it in a member's list. For the popularity of the post, each viewer counts once an hour, and the guests
/// of one network together at most 30 times.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct View {
    /// The `_id` of the post
    #[schema(value_type = ObjectId)]
    pub post_obi: String,
}

impl Operation for View {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/post_view/{post_obi}", Access::Anyone).writes().or(&[Failure::Missing]);

    fn run(self, call: &Call<'_>) -> Result<()> {
        match self.start(call) {
            Ok(view) => view.wait(),
            Err(Self { post_obi }) => call.tidings().call(call.caller(), Get { post_obi }).map(drop),
        }
    }

    /// A browser that prefetches the post does not view it.
    fn start(self, call: &Call<'_>) -> Result<Pending<()>, Self> {
        if call.client().is_prefetch {
            return Err(self);
        }
        Ok(super::view_from(call.tidings(), call.caller(), Guest::of(call), &self.post_obi))
    }
}

/// Declares acts of members on a post: the comment, the name, the path, and the function that does it without waiting.
macro_rules! acts {
    ($($(#[$doc:meta])+ $name:ident, $path:literal, $act:path;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
        pub struct $name {
            /// The `_id` of the post
            #[schema(value_type = ObjectId)]
            pub post_obi: String,
        }

        impl Operation for $name {
            type Answer = ();
            const SPEC: Spec = Spec::get(GROUP, $path, Access::Members).writes().or(&[Failure::Missing]);

            fn run(self, call: &Call<'_>) -> Result<()> {
                $act(call.tidings(), call.caller(), &self.post_obi).wait()
            }

            fn start(self, call: &Call<'_>) -> Result<Pending<()>, Self> {
                Ok($act(call.tidings(), call.caller(), &self.post_obi))
            }
        }
    )+};
}

acts! {
    /// Like a post; idempotent
    Like, "/post_like/{post_obi}", super::like;
    /// Remove a like; idempotent
    Unlike, "/post_unlike/{post_obi}", super::unlike;
    /// Hide a post from recommendations
    ///
    /// Other feeds and searches still show it. The newest 300 hidden posts of a member stay hidden. Resetting the
    /// measurement of interest shows them again.
    Hide, "/post_hide/{post_obi}", super::hide;
    /// Show a hidden post again
    Unhide, "/post_unhide/{post_obi}", super::unhide;
}

/// Publish a post
///
/// `title` and `url` are required.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = PostFields)]
pub struct Insert {
    /// Its fields.
    #[serde(rename = "..")]
    pub draft: Draft,
}

impl Operation for Insert {
    type Answer = Inserted;
    const SPEC: Spec =
        Spec::post(GROUP, "/insert_post", ADMINS).requiring(&["title", "url"]).or(&[Failure::DuplicateUrl]);

    fn run(self, call: &Call<'_>) -> Result<Inserted> {
        let (identity, id) = (call.authority(), ObjectId::new(call.tidings().clock()));
        let content = Change::parse(&self.draft).and_then(|change| change.of_new(call.now()));
        // Before the transaction, because splitting a long text into tokens takes time.
        let prepared =
            content.map(|content| (Arc::new(TokenFields::of(&content.title, &content.post)), content));
        let written = call.store().write(Isolation::Alone, move |tx| {
            let admin = identity.admin(tx)?;
            let (tokens, content) = prepared.as_ref()?;
            let mut derived = DerivedChanges::default();
            let subject = id.to_string();
            let new = New { id: &subject, content, tokens: Arc::clone(tokens), view: 0, fav: 0 };
            rows::insert(tx, &admin, &[new], &mut derived)?;
            admin.record(tx, Entry::new(Action::PostInsert).on(&subject).after(&content.title))?;
            Ok(derived.write(tx)?)
        });
        written.map_err(duplicate_url)?;
        Ok(Inserted { id })
    }
}

/// Change a post
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = PostFields)]
pub struct Update {
    /// The `_id` of the post
    #[schema(value_type = ObjectId)]
    pub post_obi: String,
    /// Its new fields.
    #[serde(rename = "..")]
    pub draft: Draft,
}

impl Operation for Update {
    type Answer = ();
    const SPEC: Spec =
        Spec::post(GROUP, "/update_post/{post_obi}", ADMINS).or(&[Failure::Missing, Failure::DuplicateUrl]);

    fn run(self, call: &Call<'_>) -> Result<()> {
        let (identity, id, change) =
            (call.authority(), ObjectId::parse(&self.post_obi), Change::parse(&self.draft));
        let written = call.store().write(Isolation::Alone, move |tx| {
            let admin = identity.admin(tx)?;
            let change = change.as_ref()?;
            let old = rows::by_id(tx, &known(id)?)?.ok_or(Error::NotFound)?;
            let new = change.onto(&old.content);
            if new == old.content {
                return Ok(());
            }
            let mut derived = DerivedChanges::default();
            rows::update(tx, &admin, &old, &new, None, &mut derived)?;
            let (subject, changed) = (known(id)?, new.differences(&old.content));
            let entry = Entry::new(Action::PostUpdate).on(&subject);
            admin.record(tx, entry.change(Some(&old.content.title), Some(&changed)))?;
            Ok(derived.write(tx)?)
        });
        written.map_err(duplicate_url)?;
        Ok(())
    }
}

/// Remove a post
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Remove {
    /// The `_id` of the post
    #[schema(value_type = ObjectId)]
    pub post_obi: String,
}

impl Transaction for Remove {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/remove_post/{post_obi}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<()> {
        let subject = known(ObjectId::parse(&self.post_obi))?;
        let post = rows::by_id(tx, &subject)?.ok_or(Error::NotFound)?;
        let mut derived = DerivedChanges::default();
        rows::remove(tx, admin, &post, &mut derived)?;
        let entry = Entry::new(Action::PostRemove).on(&subject);
        admin.record(tx, entry.change(Some(&post.content.title), None))?;
        Ok(derived.write(tx)?)
    }
}
