use super::draft::Content;
use super::{Notice, Placement};
use crate::account::Admin;
use crate::base::clock::Timestamp;
use crate::record::error::{Error, Result};
use crate::record::id::ObjectId;
use crate::store::{Arg, Row, StoreError, Tx};

fn columns<'a>(id: &'a String, content: &'a Content) -> [Arg<'a>; 9] {
    let Content { title, post, activation, placement } = content;
    [
        id.into(),
        title.into(),
        post.into(),
        (*activation).into(),
        placement.visible_from.into(),
        placement.visible_until.into(),
        placement.pinned.into(),
        placement.topic.as_deref().into(),
        placement.members_only.into(),
    ]
}

pub(super) fn insert(
    tx: &mut dyn Tx,
    _: &Admin<'_>,
    id: ObjectId,
    content: &Content,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO notice (id, title, post, activation, visible_from, visible_until, pinned, topic,
                                   members_only, date)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let id = id.to_string();
    let arguments = [&columns(&id, content)[..], &[now.into()]].concat();
    tx.run(sql, &arguments)?;
    Ok(())
}

pub(super) fn update(
    tx: &mut dyn Tx,
    _: &Admin<'_>,
    id: ObjectId,
    content: &Content,
) -> Result<(), StoreError> {
    let sql =
        "UPDATE notice SET title = $2, post = $3, activation = $4, visible_from = $5, visible_until = $6,
               pinned = $7, topic = $8, members_only = $9 WHERE id = $1";
    tx.run(sql, &columns(&id.to_string(), content))?;
    Ok(())
}

pub(super) fn remove(tx: &mut dyn Tx, _: &Admin<'_>, id: ObjectId) -> Result<(), StoreError> {
    let id = id.to_string();
    tx.run("DELETE FROM notice_reads WHERE notice = $1", &[(&id).into()])?;
    tx.run("DELETE FROM notice WHERE id = $1", &[(&id).into()])?;
    Ok(())
}

pub(super) fn content(tx: &mut dyn Tx, id: ObjectId) -> Result<Option<Content>, StoreError> {
    let sql = "SELECT visible_from, visible_until, pinned, topic, members_only, title, post, activation
               FROM notice WHERE id = $1";
    let id = id.to_string();
    let content = |mut row: Row| {
        Ok(Content {
            placement: placement(&mut row, 0)?,
            title: row.take(5)?,
            post: row.take(6)?,
            activation: row.take(7)?,
        })
    };
    tx.row(sql, &[(&id).into()])?.map(content).transpose()
}

pub(super) fn all(tx: &mut dyn Tx) -> Result<Vec<(Notice, Placement)>> {
    select(tx, "ORDER BY date DESC, key DESC", &[])
}

pub(super) fn select(tx: &mut dyn Tx, clause: &str, args: &[Arg<'_>]) -> Result<Vec<(Notice, Placement)>> {
    let sql = format!(
        "SELECT id, title, post, view, date, activation, visible_from, visible_until, pinned, topic, members_only
         FROM notice {clause}"
    );
    let notice = |mut row: Row| {
        let id: String = row.take(0)?;
        let notice = Notice {
            id: ObjectId::parse(&id)
                .ok_or_else(|| Error::Internal("a stored notice id is invalid".into()))?,
            title: row.take::<String>(1)?.into(),
            post: row.take::<String>(2)?.into(),
            view: row.take(3)?,
            date: row.take(4)?,
            activation: row.take(5)?,
            html: None,
        };
        Ok((notice, placement(&mut row, 6)?))
    };
    tx.rows(&sql, args)?.into_iter().map(notice).collect()
}

fn placement(row: &mut Row, first: usize) -> Result<Placement, StoreError> {
    Ok(Placement {
        visible_from: row.take(first)?,
        visible_until: row.take(first + 1)?,
        pinned: row.take(first + 2)?,
        topic: row.take::<Option<String>>(first + 3)?.map(Into::into),
        members_only: row.take(first + 4)?,
    })
}

pub(super) fn views(tx: &mut dyn Tx) -> Result<Vec<(String, i64)>, StoreError> {
    let rows = tx.rows("SELECT id, view FROM notice", &[])?;
    rows.into_iter().map(|mut row| Ok((row.take(0)?, row.take(1)?))).collect()
}

pub(super) fn add_views(tx: &mut dyn Tx, id: ObjectId, views: i64) -> Result<bool, StoreError> {
    let id = id.to_string();
    Ok(tx.run("UPDATE notice SET view = view + $2 WHERE id = $1", &[(&id).into(), views.into()])? > 0)
}

pub(super) fn add_reads(tx: &mut dyn Tx, id: ObjectId, day: i64, reads: i64) -> Result<(), StoreError> {
    let sql = "INSERT INTO notice_reads (notice, day, reads) VALUES ($1, $2, $3)
               ON CONFLICT (notice, day) DO UPDATE SET reads = notice_reads.reads + excluded.reads";
    let id = id.to_string();
    tx.run(sql, &[(&id).into(), day.into(), reads.into()])?;
    Ok(())
}
