//! The layout of the frame around the screens: the areas of the tabs, the screen and the footer, for drawing and for
//! the mouse.

use ratatui::layout::Rect;

use crate::keys::{Action, Binding, Table};
use crate::text::{fit, width};

/// The smallest supported terminal, in columns and rows.
pub(crate) const LEAST: (u16, u16) = (40, 12);

/// The names of the screens, in the order of their number keys.
pub(crate) const TITLES: [&str; 8] =
    ["Overview", "Notices", "Feedback", "Members", "Posts", "Analytics", "Log", "Audit"];

/// The areas of the frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Areas {
    pub(crate) tabs: Rect,
    /// The line that names the server; empty on a database.
    pub(crate) title: Rect,
    pub(crate) body: Rect,
    pub(crate) foot: Rect,
}

/// Returns the areas of the frame within `area`, with a line for the title if `titled` is set.
pub(crate) fn areas(area: Rect, titled: bool) -> Areas {
    // Large terminals have empty lines and columns around the screen. The title takes the upper line.
    let air = u16::from(area.height >= 20);
    let above = 1 + air.max(u16::from(titled));
    let side = u16::from(area.width >= 60);
    let inner = Rect { x: area.x + side, width: area.width.saturating_sub(2 * side), ..area };
    let row = |y: u16| Rect { y: area.y + y, height: 1, ..inner }.intersection(area);
    let title = if titled { row(1) } else { Rect::default() };
    let body = Rect { y: area.y + above, height: area.height.saturating_sub(above + 1 + air), ..inner };
    Areas { tabs: row(0), title, body: body.intersection(area), foot: row(area.height.saturating_sub(1)) }
}

/// Returns the area and the label of each tab.
pub(crate) fn tabs(area: Rect, current: usize, open_feedback: usize) -> Vec<(Rect, String)> {
    let name = |(i, title): (usize, &&str)| match (i, open_feedback) {
        (2, 1..) => format!(" {} {title} {open_feedback}! ", i + 1),
        _ => format!(" {} {title} ", i + 1),
    };
    // Without the blank and the mark at the end, all names fit into 80 columns.
    let close = |tab: &String| tab.trim_end().trim_end_matches('!').to_owned();
    let short = |(i, tab): (usize, &String)| if i == current { tab.clone() } else { format!(" {} ", i + 1) };
    let fits = |tabs: &Vec<String>| tabs.iter().map(|tab| width(tab)).sum::<usize>() <= area.width.into();
    let full: Vec<String> = TITLES.iter().enumerate().map(name).collect();
    let narrow: Vec<String> = full.iter().map(close).collect();
    let numbers = full.iter().enumerate().map(short).collect();
    let shown = [full, narrow].into_iter().find(fits).unwrap_or(numbers);
    let mut x = area.x;
    let place = |tab: String| {
        let wide = u16::try_from(width(&tab)).unwrap_or_default();
        let rect = Rect { x, width: wide, ..area }.intersection(area);
        x = x.saturating_add(wide);
        (rect, tab)
    };
    shown.into_iter().map(place).collect()
}

/// Returns the area and the binding of each key in the footer.
pub(crate) fn footer(area: Rect, tables: &[&'static Table]) -> Vec<(Rect, &'static Binding)> {
    let mut shown: Vec<&'static Binding> = Vec::new();
    let wide = |binding: &Binding| u16::try_from(width(&hint(binding)) + 2).unwrap_or_default();
    let all = tables.iter().flat_map(|table| table.keys).filter(|binding| !binding.short.is_empty());
    // Help and quit come last and are always shown.
    let (last, first): (Vec<_>, Vec<_>) = all.partition(|b| matches!(b.action, Action::Help | Action::Quit));
    let mut room = area.width.saturating_sub(last.iter().map(|binding| wide(binding)).sum());
    for binding in first {
        if wide(binding) > room {
            break;
        }
        room -= wide(binding);
        shown.push(binding);
    }
    shown.extend(last);
    let mut x = area.x;
    let place = |binding: &'static Binding| {
        let rect = Rect { x, width: wide(binding), ..area }.intersection(area);
        x = x.saturating_add(rect.width);
        (rect, binding)
    };
    shown.into_iter().map(place).collect()
}

pub(crate) fn hint(binding: &Binding) -> String {
    let key = binding.chords.first().map(|chord| chord.name()).unwrap_or_default();
    format!("{key} {}", binding.short)
}

/// Returns the lines of the help: the text of each, and whether it is a title.
pub(crate) fn help(tables: &[&'static Table]) -> Vec<(String, bool)> {
    let mut lines = Vec::new();
    for table in tables {
        if !lines.is_empty() {
            lines.push((String::new(), false));
        }
        lines.push((table.title.to_owned(), true));
        for binding in table.keys {
            let names: Vec<String> = binding.chords.iter().map(|chord| chord.name()).collect();
            lines.push((format!("{}  {}", fit(&names.join(" "), 16, false), binding.help), false));
        }
    }
    lines
}

/// Returns the number of help lines that a terminal with `rows` rows shows.
pub(crate) fn help_lines(rows: u16) -> usize {
    usize::from(rows.saturating_sub(4))
}
