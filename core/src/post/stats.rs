use super::change;
use super::heat::{Heats, LIKE_WEIGHT, VIEW_WEIGHT, weight_of};
use crate::base::clock::Timestamp;
use crate::record::id::PostKey;
use crate::store::{Pipelined, StoreError, Topic, Tx};

/// The methods change the stats in memory; [`PostStats::update_each`] writes them.
pub(crate) struct PostStats {
    pub(crate) post: PostKey,
    view: i64,
    fav: i64,
    heats: Option<Heats>,
}

impl PostStats {
    pub(super) fn ask_of_ids(
        tx: &mut dyn Tx,
        ids: &[&str],
    ) -> Result<Pipelined<'static, Vec<Option<Self>>>, StoreError> {
        sql::by_ids(tx, ids)
    }

    pub(crate) fn of_url(tx: &mut dyn Tx, url: &str) -> Result<Option<Self>, StoreError> {
        sql::by_url(tx, url)
    }

    /// Reads the stats after all transactions that change them at the same time; later ones wait for this one. `posts` are in the
    /// order of their keys.
    pub(super) fn lock(
        tx: &mut dyn Tx,
        posts: Vec<Self>,
    ) -> Result<Pipelined<'static, Vec<Self>>, StoreError> {
        if tx.dialect().is_concurrent() { sql::lock(tx, &posts) } else { Ok(Pipelined::given(posts)) }
    }

    /// `heated_at` is the time of the view if it counts for the popularity.
    pub(crate) fn view(&mut self, heated_at: Option<Timestamp>) {
        self.view += 1;
        if let Some(at) = heated_at {
            self.heats = Heats::add(self.heats, VIEW_WEIGHT, at);
        }
    }

    /// For a view that counts for the popularity.
    pub(crate) fn date_view(&mut self, before: Timestamp, at: Timestamp) {
        self.heats = Heats::add(Heats::take(self.heats, VIEW_WEIGHT, before), VIEW_WEIGHT, at);
    }

    pub(crate) fn like(&mut self, at: Timestamp) {
        self.fav += 1;
        self.heats = Heats::add(self.heats, LIKE_WEIGHT, at);
    }

    /// It was given at the time `at`.
    pub(crate) fn unlike(&mut self, at: Timestamp) {
        self.fav -= 1;
        self.heats = Heats::take(self.heats, LIKE_WEIGHT, at);
    }

    /// Writes the stats of different posts, each with the time of its last act, in the order of their keys. The heats are limited to those
    /// of the same acts if all happened at that time.
    pub(crate) fn update_each(tx: &mut dyn Tx, mut posts: Vec<(Self, Timestamp)>) -> Result<(), StoreError> {
        if posts.is_empty() {
            return Ok(());
        }
        for (stats, now) in &mut posts {
            let weight = weight_of(stats.view, stats.fav);
            stats.heats = stats.heats.and_then(|heats| heats.bounded(weight, *now));
        }
        sql::update_each(tx, &posts)?;
        change::add_each(tx, &posts.iter().map(|(stats, _)| stats.post).collect::<Vec<_>>())?;
        tx.touch(Topic::Posts);
        Ok(())
    }
}

mod sql {
    use super::super::heat::{GRID, heat_columns};
    use super::{Heats, Pipelined, PostStats, StoreError, Timestamp, Tx};
    use crate::store::{Row, ask_row_each, send_each};

    /// The beginning of statements whose rows [`of_row`] reads.
    macro_rules! select {
        () => {
            concat!("SELECT post, view, fav, ", heat_columns!(), " FROM post_stats")
        };
    }

    pub(super) fn by_ids(
        tx: &mut dyn Tx,
        ids: &[&str],
    ) -> Result<Pipelined<'static, Vec<Option<PostStats>>>, StoreError> {
        let sql = concat!(select!(), " WHERE post = (SELECT key FROM post WHERE id = $1)");
        let args: Vec<_> = ids.iter().map(|id| [(*id).into()]).collect();
        let found = ask_row_each(tx, sql, &args)?;
        Ok(found.then(|_, rows| rows.into_iter().map(|row| row.map(of_row).transpose()).collect()))
    }

    pub(super) fn by_url(tx: &mut dyn Tx, url: &str) -> Result<Option<PostStats>, StoreError> {
        let sql = concat!(select!(), " WHERE post = (SELECT key FROM post WHERE url = $1)");
        tx.row(sql, &[url.into()])?.map(of_row).transpose()
    }

    pub(super) fn lock(
        tx: &mut dyn Tx,
        posts: &[PostStats],
    ) -> Result<Pipelined<'static, Vec<PostStats>>, StoreError> {
        let sql = format!("{} WHERE post = $1 {}", select!(), tx.dialect().for_update());
        let args: Vec<_> = posts.iter().map(|stats| [stats.post.into()]).collect();
        // Posts are removed by work that runs alone.
        let missing = || StoreError::other("a post has no stats");
        let found = ask_row_each(tx, &sql, &args)?;
        Ok(found.then(move |_, rows| rows.into_iter().map(|row| of_row(row.ok_or_else(missing)?)).collect()))
    }

    fn of_row(mut row: Row) -> Result<PostStats, StoreError> {
        Ok(PostStats {
            post: row.take(0)?,
            view: row.take(1)?,
            fav: row.take(2)?,
            heats: Heats::take_from(&mut row, 3)?,
        })
    }

    pub(super) fn update_each(tx: &mut dyn Tx, posts: &[(PostStats, Timestamp)]) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE post_stats SET view = $2, fav = $3, heat_0 = $4, heat_1 = $5, heat_2 = $6, heat_3 = $7,
                                  heat_4 = $8, heat_5 = $9, heat_6 = $10, heat_7 = $11, heat_8 = $12, heat_9 = $13,
                                  heat_10 = $14, heat_11 = $15
                           WHERE post = $1";
        let args = posts.iter().map(|(PostStats { post, view, fav, heats }, _)| {
            std::array::from_fn::<_, { GRID + 3 }, _>(|n| match n {
                0 => (*post).into(),
                1 => (*view).into(),
                2 => (*fav).into(),
                _ => Heats::column(*heats, n - 3),
            })
        });
        send_each(tx, SQL, &args.collect::<Vec<_>>())
    }
}
