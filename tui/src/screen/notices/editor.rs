//! The editor of a notice: its title and its text, their lengths and limits, and a preview.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::Style;
use ratatui::widgets::{Paragraph, Widget as _};
use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use tidings_core::clock::Timestamp;
use tidings_core::notice::{self, Notice, Visibility};

use crate::draft::SavedDraft;
use crate::effect::{Act, Effect};
use crate::keys::{self, Action, Table};
use crate::number::number;
use crate::problem::Problem;
use crate::screen::{Choice, Ctx, Out, Question, Then, reading};
use crate::text::{cut, width};
use crate::theme::Theme;

/// The time after which the screen shows that saving is running, in milliseconds.
const SLOW_MS: i64 = 300;

/// The notice in the editor.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent of each other")]
pub(super) struct Editor {
    /// The draft's name.
    key: String,
    /// The notice that is changed; `None` for a new notice.
    notice: Option<String>,
    /// The notice before the change.
    before: Text,
    title: TextArea<'static>,
    post: TextArea<'static>,
    shown: bool,
    in_title: bool,
    preview: bool,
    scroll: u16,
    /// Whether the text has changed since the draft was saved last.
    to_keep: bool,
    /// Whether a draft has been saved since the editor was opened.
    kept: bool,
    /// Whether the editor closes once the draft is on disk.
    leaving: bool,
    /// When the draft that the editor resumed was saved.
    resumed: Option<Timestamp>,
    /// When saving began.
    saving: Option<Timestamp>,
    problem: Option<Problem>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Text {
    title: String,
    post: String,
    shown: bool,
}

/// The areas of the editor.
struct Areas {
    head: Rect,
    title: Rect,
    post: Rect,
    foot: Rect,
}

impl Areas {
    fn of(area: Rect) -> Self {
        let lines = [Constraint::Length(1), Constraint::Length(1), Constraint::Length(1)];
        let [head, title, _] = Layout::vertical(lines).areas(Rect { height: area.height.min(3), ..area });
        let below = Rect { y: area.y + 3.min(area.height), height: area.height.saturating_sub(4), ..area };
        let foot = Rect { y: below.bottom(), height: 1.min(area.height.saturating_sub(3)), ..area };
        let title = Rect { x: title.x + 7.min(title.width), width: title.width.saturating_sub(7), ..title };
        Self { head, title, post: below, foot }
    }
}

fn area_of(text: &str, wrap: WrapMode) -> TextArea<'static> {
    let mut area =
        TextArea::new(text.split('\n').map(|line| line.trim_end_matches('\r').to_owned()).collect());
    area.set_wrap_mode(wrap);
    area.set_cursor_line_style(Style::new());
    area.set_selection_style(Theme::selected());
    area.set_tab_length(4);
    area.move_cursor(CursorMove::Bottom);
    area.move_cursor(CursorMove::End);
    area
}

impl Editor {
    /// Opens an existing or a new notice, with the text of `draft` if it is set.
    pub(super) fn of(notice: Option<&Notice>, draft: Option<&SavedDraft>, now: Timestamp) -> Self {
        let before = notice.map_or_else(
            || Text { title: String::new(), post: String::new(), shown: true },
            |notice| Text {
                title: notice.title.to_string(),
                post: notice.post.to_string(),
                shown: notice.activation == Visibility::Shown,
            },
        );
        let text = draft.map_or_else(
            || before.clone(),
            |draft| Text { title: draft.title.clone(), post: draft.post.clone(), shown: draft.shown },
        );
        let key = draft.map(|draft| draft.key.clone());
        let id = notice.map(|notice| notice.id.to_string());
        Self {
            key: key.or_else(|| id.clone()).unwrap_or_else(|| format!("new{:x}", now.as_millis())),
            notice: id,
            before,
            title: area_of(&text.title, WrapMode::None),
            post: area_of(&text.post, WrapMode::WordOrGlyph),
            shown: text.shown,
            in_title: notice.is_none() && draft.is_none(),
            preview: false,
            scroll: 0,
            to_keep: false,
            kept: false,
            leaving: false,
            resumed: draft.map(|draft| draft.date),
            saving: None,
            problem: None,
        }
    }

    fn text(&self) -> Text {
        Text { title: self.title.lines().join(" "), post: self.post.lines().join("\n"), shown: self.shown }
    }

    /// Returns whether the text differs from the notice before the change.
    pub(super) fn is_changed(&self) -> bool {
        self.text() != self.before
    }

    pub(super) fn is_slow(&self, now: Timestamp) -> bool {
        self.saving.is_some_and(|since| now - since >= SLOW_MS)
    }

    /// Returns the draft if the text has changed since it was saved last.
    pub(super) fn take_draft(&mut self, now: Timestamp) -> Option<SavedDraft> {
        if self.saving.is_some() || !std::mem::take(&mut self.to_keep) {
            return None;
        }
        self.kept = true;
        let Text { title, post, shown } = self.text();
        Some(SavedDraft { key: self.key.clone(), notice: self.notice.clone(), title, post, shown, date: now })
    }

    #[expect(clippy::unused_self, reason = "the keys may depend on the editor's state in the future")]
    pub(super) fn keys(&self) -> Vec<&'static Table> {
        vec![&keys::EDITOR]
    }

    fn focused(&mut self) -> &mut TextArea<'static> {
        if self.in_title { &mut self.title } else { &mut self.post }
    }

    /// Handles an action. Returns whether the editor closes.
    pub(super) fn act(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> bool {
        match action {
            Action::Save => self.save(ctx, out),
            Action::Back if self.preview => self.preview = false,
            Action::Back if self.saving.is_some() => {
                out.say("Still saving; the draft is kept.");
                return true;
            }
            Action::Back if !self.is_changed() => {
                if self.resumed.is_some() || self.kept || self.to_keep {
                    out.act(Act::DiscardDraft { key: self.key.clone(), at: ctx.now });
                }
                return true;
            }
            Action::Back => out.question = Some(self.leaving()),
            Action::SaveDraft => {
                self.to_keep = true;
                if let Some(draft) = self.take_draft(ctx.now) {
                    self.leaving = true;
                    out.act(Act::SaveDraft(draft));
                }
            }
            Action::DiscardDraft => {
                out.act(Act::DiscardDraft { key: self.key.clone(), at: ctx.now });
                return true;
            }
            Action::NextField => self.in_title = !self.in_title,
            Action::Preview => {
                self.preview = !self.preview;
                self.scroll = 0;
            }
            // The notice cannot be changed while it is being saved.
            Action::Toggle | Action::CutText | Action::PasteText if self.saving.is_some() => {}
            Action::Toggle => {
                self.shown = !self.shown;
                self.to_keep = true;
            }
            Action::CopyText | Action::CutText => {
                let cuts = action == Action::CutText;
                let area = self.focused();
                if area.is_selecting() {
                    if cuts {
                        area.cut();
                    } else {
                        area.copy();
                    }
                    let text = area.yank_text();
                    self.to_keep |= cuts;
                    out.effect(Effect::Copy(text));
                }
            }
            Action::PasteText => {
                self.focused().paste();
                self.to_keep = true;
            }
            _ => {}
        }
        false
    }

    fn leaving(&self) -> Question {
        let choice = |key, label, action| Choice { key, label, then: Then::Action(action) };
        let title = self.text().title;
        Question {
            text: if title.is_empty() {
                "Leave this notice?".to_owned()
            } else {
                format!("Leave “{title}”?")
            },
            detail: "It is not saved yet.".into(),
            choices: vec![
                choice('k', "save as a draft", Action::SaveDraft),
                choice('d', "discard the changes", Action::DiscardDraft),
                choice('s', "save now", Action::Save),
            ],
        }
    }

    fn save(&mut self, ctx: &Ctx, out: &mut Out) {
        if self.saving.is_some() {
            return;
        }
        // The draft stays on disk until the notice is in the database.
        if let Some(draft) = self.take_draft(ctx.now) {
            out.act(Act::SaveDraft(draft));
        }
        self.saving = Some(ctx.now);
        self.problem = None;
        let Text { title, post, shown } = self.text();
        let (target, draft) = (self.notice.clone(), self.key.clone());
        out.act(Act::SaveNotice { target, draft, title, post, shown, at: ctx.now });
    }

    /// Handles the result of saving the notice. Returns whether the editor closes.
    pub(super) fn saved(&mut self, draft: &str, result: Result<(), &Problem>) -> bool {
        if self.key != draft || self.saving.take().is_none() {
            return false;
        }
        match result {
            Ok(()) => true,
            Err(problem) => {
                self.problem = Some(problem.clone());
                self.to_keep = true;
                false
            }
        }
    }

    /// Handles the result of saving the draft. Returns whether the editor closes.
    pub(super) fn draft_saved(&mut self, draft: &str, result: Result<(), &Problem>) -> bool {
        if self.key != draft {
            return false;
        }
        // A draft that could not be saved is saved again on the next tick.
        self.to_keep |= result.is_err();
        std::mem::take(&mut self.leaving) && result.is_ok()
    }

    pub(super) fn key(&mut self, key: KeyEvent) {
        if self.saving.is_some() {
            return;
        }
        if self.preview {
            self.scroll = match key.code {
                KeyCode::Up | KeyCode::PageUp => self.scroll.saturating_sub(1),
                KeyCode::Down | KeyCode::PageDown => self.scroll.saturating_add(1),
                _ => self.scroll,
            };
        } else if self.in_title && matches!(key.code, KeyCode::Enter | KeyCode::Down) {
            self.in_title = false;
        } else if !self.in_title
            && key.code == KeyCode::Up
            && self.post.screen_cursor().row == 0
            && key.modifiers.is_empty()
        {
            self.in_title = true;
        } else if self.focused().input(key) {
            self.to_keep = true;
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        if self.saving.is_some() {
            return;
        }
        let keeps = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let mut text: String = text.chars().filter(keeps).collect();
        if self.in_title {
            text = text.replace(['\n', '\t'], " ");
        }
        self.focused().insert_str(text);
        self.to_keep = true;
    }

    pub(super) fn click(&mut self, at: Position, area: Rect) {
        let areas = Areas::of(area);
        let to = |area: Rect, text: &mut TextArea<'static>| {
            let top = text.scroll_offset();
            let row = usize::from(top.0 + (at.y - area.y));
            let place = text.screen_to_data(row, usize::from(top.1 + (at.x - area.x)));
            let jump = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
            text.cancel_selection();
            text.move_cursor(CursorMove::Jump(jump(place.0), jump(place.1)));
        };
        if self.preview {
            self.preview = false;
        } else if areas.title.contains(at) {
            self.in_title = true;
            to(areas.title, &mut self.title);
        } else if areas.post.contains(at) {
            self.in_title = false;
            to(areas.post, &mut self.post);
        }
    }

    pub(super) fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
        let areas = Areas::of(area);
        let Text { title, post, shown } = self.text();
        let state = if shown { "● will be shown" } else { "○ will be hidden" };
        let what = match (&self.notice, self.resumed) {
            (_, Some(at)) => format!("The draft of {}", ctx.stamp(at)),
            (Some(_), None) => "Edit the notice".to_owned(),
            (None, None) => "A new notice".to_owned(),
        };
        let what = if self.saving.is_some() { "Saving …".to_owned() } else { what };
        put(areas.head, buf, &what, Theme::strong());
        let right = u16::try_from(width(state)).unwrap_or_default();
        if areas.head.width > right + u16::try_from(width(&what)).unwrap_or_default() {
            let style = if shown { ctx.theme.good() } else { Theme::faint() };
            buf.set_string(areas.head.right() - right, areas.head.y, state, style);
        }
        if self.preview {
            let rest = Rect { y: area.y + 2, height: area.height.saturating_sub(2), ..area };
            let rest = rest.intersection(area);
            let facts = format!("{state} · {}", ctx.stamp(ctx.now));
            let lines = reading(&title, &facts, &post, rest.width.into());
            let most = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_sub(rest.height);
            Paragraph::new(lines).scroll((self.scroll.min(most), 0)).render(rest, buf);
            return;
        }
        if areas.title.height > 0 {
            let style = if self.in_title { Theme::strong() } else { Theme::faint() };
            buf.set_stringn(area.x, areas.title.y, "Title", area.width.into(), style);
        }
        self.draw_field(&self.title, areas.title, buf, self.in_title);
        if areas.post.y > area.y + 2 && area.height > 2 {
            let rule = "─".repeat(area.width.into());
            buf.set_string(area.x, areas.post.y - 1, rule, Theme::faint());
        }
        self.draw_field(&self.post, areas.post, buf, !self.in_title);
        self.draw_foot(areas.foot, buf, ctx, &title, &post);
    }

    /// Draws a field, with a cursor if it has the focus.
    #[expect(clippy::unused_self, reason = "consistent with the other drawing methods")]
    fn draw_field(&self, field: &TextArea<'static>, area: Rect, buf: &mut Buffer, focused: bool) {
        if area.width == 0 || area.height == 0 {
            return;
        }
        if focused {
            field.render(area, buf);
        } else {
            let mut still = field.clone();
            still.set_cursor_style(Style::new());
            still.render(area, buf);
        }
    }

    /// Draws the lengths and their limits, or the reason why the notice was not saved.
    fn draw_foot(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx, title: &str, post: &str) {
        if let Some(problem) = &self.problem {
            return put(area, buf, &format!("✗ {} The draft is kept.", problem.text), ctx.theme.bad());
        }
        let mut x = area.x;
        let fields = [("title", title, notice::TITLE), ("text", post, notice::POST)];
        for (name, text, bounds) in fields {
            let length = notice::length(text);
            let over = length > bounds.max;
            let sign = if over { " too long!" } else { "" };
            let shown = format!("{name} {}/{}{sign}   ", number(length), number(bounds.max));
            let style = if over { ctx.theme.bad() } else { Theme::faint() };
            let rest = Rect { x, width: area.right().saturating_sub(x), ..area };
            put(rest, buf, &shown, style);
            x = x.saturating_add(u16::try_from(width(&shown)).unwrap_or_default()).min(area.right());
        }
    }
}

fn put(area: Rect, buf: &mut Buffer, text: &str, style: Style) {
    if area.height > 0 {
        let room = usize::from(area.width);
        buf.set_stringn(area.x, area.y, cut(&crate::text::line(text), room), room, style);
    }
}
