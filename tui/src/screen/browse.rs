//! The generic list screen, and the form that covers it. A screen declares its rows, queries and own actions with [`Browse`].

use std::cmp::Ordering;

use ratatui::layout::Rect;
use ratatui::text::Line;
use serde_json::Value;
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;

use super::form::Page;
use super::{Ctx, Destination, Loaded, Out};
use crate::effect::{Change, Changed, Work};
use crate::keys::{Action, Table};
use crate::pending::Pending;
use crate::sheet::Sheet;
use crate::widget::browser::{Areas, Browser};
use crate::widget::input::Input;
use crate::widget::table::{Cell, Column};

mod blanket;

/// Between two requests for a list that changes often.
const READ_EVERY_MS: i64 = 900;
/// The same on a server, whose log has every request.
const READ_REMOTE_EVERY_MS: i64 = 10_000;

pub(crate) struct Listing<R, P = ()> {
    pub(crate) rows: Vec<R>,
    pub(crate) list: Browser,
    pub(crate) pending: Pending,
    pub(crate) next: Option<P>,
    pub(crate) further: bool,
    /// For the rest of the selected row.
    pub(crate) detail: Pending,
    /// The rest of the selected row may have changed. The old data stays visible until the new data is loaded.
    pub(crate) stale: bool,
    /// The versions of the data that were requested last.
    pub(crate) seen: Option<[i64; 3]>,
    read_at: Timestamp,
    pub(crate) to_select: Option<String>,
    pub(crate) form: Option<Page>,
    is_loaded: bool,
}

impl<R, P> Default for Listing<R, P> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            list: Browser::default(),
            pending: Pending::default(),
            next: None,
            further: false,
            detail: Pending::default(),
            stale: false,
            seen: None,
            read_at: Timestamp::default(),
            to_select: None,
            form: None,
            is_loaded: false,
        }
    }
}

impl<R, P> Listing<R, P> {
    pub(crate) fn selected(&self) -> Option<&R> {
        self.list.selected().map(|place| &self.rows[self.list.listed[place]])
    }

    /// A list that changes often may be requested again: it failed, or enough time has passed.
    pub(crate) fn is_time(&self, ctx: &Ctx) -> bool {
        let every = if ctx.is_remote { READ_REMOTE_EVERY_MS } else { READ_EVERY_MS };
        self.pending.problem().is_some() || ctx.now - self.read_at >= every
    }
}

/// Declares the types of [`Browse`] of a screen with a field `base`.
macro_rules! listing {
    ($row:ty, $place:ty, $list:ty) => {
        listing!($row, $place, $list, ());
    };
    ($row:ty, $place:ty, $list:ty, $detail:ty) => {
        type Row = $row;
        type Place = $place;
        type List = $list;
        type Detail = $detail;

        fn base(&self) -> &Listing<$row, $place> {
            &self.base
        }

        fn base_mut(&mut self) -> &mut Listing<$row, $place> {
            &mut self.base
        }
    };
}
pub(crate) use listing;

/// `text` is in lower case.
pub(crate) fn any_holds(texts: &[&str], text: &str) -> bool {
    texts.iter().any(|one| one.to_lowercase().contains(text))
}

/// A column, and its cell in a row, which may depend on the visible row above.
pub(crate) type ColumnOf<S> =
    (Column, fn(&S, &<S as Browse>::Row, Option<&<S as Browse>::Row>, &Ctx) -> Cell);

/// The blanket implementation makes it a [`Screen`](super::Screen).
pub(crate) trait Browse: Sized + 'static {
    type Row: Clone;
    /// From which the list continues.
    type Place;
    /// As it is loaded.
    type List: Send + 'static;
    /// The rest of a row.
    type Detail: Send + 'static;

    fn base(&self) -> &Listing<Self::Row, Self::Place>;

    fn base_mut(&mut self) -> &mut Listing<Self::Row, Self::Place>;

    const TAB: usize;
    /// These keys take precedence over those of every list.
    const KEYS: &'static Table;
    /// The selection stays on the row with the same identifier.
    const ID: fn(&Self::Row) -> String;
    const VERSIONS: fn(&Changes) -> [i64; 3];
    /// The name and the text that the copy key copies.
    const COPIED: (&'static str, fn(&Self::Row) -> String);
    /// Beside the text.
    const LIST_WIDTH: fn(u16) -> u16 = |width| width * 9 / 20;
    /// For a table whose columns are always the same.
    const COLUMNS: &'static [ColumnOf<Self>] = &[];
    /// The name of an exported table, and those of its columns, separated by spaces.
    const EXPORTED: (&'static str, &'static str) = ("", "");
    /// Refused until the saved row is selected, because they could change another row than the saved one.
    const SETTLES: &'static [Action] = &[];
    /// The screen itself applies the filter, which otherwise is part of the query.
    const FILTERS: bool = false;
    /// The line above an empty list, not the list, says that it is being loaded.
    const LOADS_ABOVE: bool = false;

    /// The filter is in lower case.
    fn keeps(&self, _: &Self::Row, _: &str) -> bool {
        true
    }

    /// By default, the order in which rows are loaded.
    fn order(&self, _: &Self::Row, _: &Self::Row) -> Ordering {
        Ordering::Equal
    }

    /// The rows begin at `place`. `None` if the filter is wrong.
    fn query(&mut self, place: Option<Self::Place>, ctx: &Ctx) -> Option<Work<Self::List>>;

    /// `has_changed` is whether the data of the list has changed.
    fn is_due(&mut self, has_changed: bool, _: &Changes, _: &Ctx) -> bool {
        has_changed
    }

    /// For the rest of a row. The second value is whether it is loaded. `None` if rows are loaded as a whole.
    fn detail(&self, _id: &str) -> Option<(Work<Self::Detail>, bool)> {
        None
    }

    fn loaded(&mut self, list: Self::List, ctx: &Ctx, out: &mut Out);

    fn detail_loaded(&mut self, _: Self::Detail, _: &Ctx) {}

    /// Takes and handles other answers and failures; see [`super::Screen::answer`].
    fn settled(&mut self, _number: u64, _: &mut Loaded, _: &mut Out) {}

    fn text(&self, row: &Self::Row, columns: usize, ctx: &Ctx) -> Vec<Line<'static>>;

    fn columns(&self, _: &Ctx) -> &'static [ColumnOf<Self>] {
        Self::COLUMNS
    }

    fn head(&self, ctx: &Ctx) -> String;

    fn problem(&self) -> Option<&str> {
        self.base().pending.problem().map(|problem| problem.text.as_str())
    }

    fn empty(&self) -> &'static str;

    fn exported(&self) -> (&'static str, Vec<&'static str>) {
        (Self::EXPORTED.0, Self::EXPORTED.1.split(' ').collect())
    }

    fn values(&self, row: &Self::Row, ctx: &Ctx) -> Value;

    /// Returns false for an action that is not only this screen's. `row` is the selected row.
    fn own_action(&mut self, action: Action, row: Option<Self::Row>, ctx: &Ctx, out: &mut Out) -> bool;

    fn selection_changed(&mut self, _: &Ctx, _: &mut Out) {}

    /// After a change to the data of this screen, which is loaded again.
    fn changed(&mut self, _: &Change, _: Changed, _: &Ctx, _: &mut Out) {}

    fn opened(&mut self, _: Destination, _: &Ctx, _: &mut Out) {}

    fn waiting_items(&self) -> usize {
        0
    }

    fn cancelled(&mut self) {}

    fn load(&mut self, place: Option<Self::Place>, ctx: &Ctx, out: &mut Out) {
        let further = place.is_some();
        if let Some(query) = self.query(place, ctx) {
            let base = self.base_mut();
            (base.further, base.read_at) = (further, ctx.now);
            out.effect(base.pending.request(ctx.now, query));
        }
    }

    fn reload(&mut self, ctx: &Ctx, out: &mut Out) {
        self.base_mut().stale = true;
        self.load(None, ctx, out);
    }

    fn load_detail(&mut self, ctx: &Ctx, out: &mut Out) {
        let Some(row) = self.base().selected() else { return };
        let Some((query, is_loaded)) = self.detail(&(Self::ID)(row)) else { return };
        let is_visible = self.areas(ctx.body()).text.width > 0;
        let base = self.base_mut();
        if is_visible && (!is_loaded || base.stale) {
            base.stale = false;
            out.effect(base.detail.request(ctx.now, query));
        }
    }

    /// Replaces the rows, or adds them if more were requested. Selects the saved row, also if the filter hides it.
    fn add(&mut self, rows: Vec<Self::Row>, next: Option<Self::Place>) {
        let selected = self.selected_id();
        let base = self.base_mut();
        if base.further {
            base.rows.extend(rows);
        } else {
            base.rows = rows;
        }
        (base.next, base.is_loaded) = (next, true);
        self.arrange_at(selected.as_deref());
        let Some(saved) = self.base_mut().to_select.take() else { return };
        if !self.select(&saved) && Self::FILTERS && !self.base().list.filter.is_empty() {
            self.base_mut().list.filter = Input::default();
            self.arrange();
            self.select(&saved);
        }
    }

    fn arrange(&mut self) {
        let selected = self.selected_id();
        self.arrange_at(selected.as_deref());
    }

    fn arrange_at(&mut self, selected: Option<&str>) {
        let rows = &self.base().rows;
        let wanted = self.base().list.filter.text().to_lowercase();
        let mut listed: Vec<usize> = (0..rows.len()).filter(|i| self.keeps(&rows[*i], &wanted)).collect();
        listed.sort_by(|a, b| self.order(&rows[*a], &rows[*b]));
        let place = selected.and_then(|id| listed.iter().position(|i| (Self::ID)(&rows[*i]) == id));
        self.base_mut().list.list(listed, place);
    }

    fn selected_id(&self) -> Option<String> {
        self.base().selected().map(Self::ID)
    }

    fn select(&mut self, id: &str) -> bool {
        let Listing { rows, list, .. } = self.base_mut();
        let place = list.listed.iter().position(|i| (Self::ID)(&rows[*i]) == id);
        if let Some(place) = place {
            list.cursor.select(place);
            list.scroll = 0;
        }
        place.is_some()
    }

    fn filter_changed(&mut self, ctx: &Ctx, out: &mut Out) {
        if Self::FILTERS { self.arrange() } else { self.load(None, ctx, out) }
    }

    fn areas(&self, area: Rect) -> Areas {
        self.base().list.areas(area, Self::LIST_WIDTH)
    }

    fn sheet(&self, ctx: &Ctx) -> Sheet {
        let ((name, head), base) = (self.exported(), self.base());
        let values = base.list.listed.iter().map(|i| self.values(&base.rows[*i], ctx));
        let rows = values.filter_map(|row| if let Value::Array(row) = row { Some(row) } else { None });
        Sheet { name: format!("{name}-{}", ctx.day(ctx.now)), head, rows: rows.collect() }
    }
}
