//! The areas of the tabs, the screen and the footer, for drawing and for the mouse.

use ratatui::layout::Rect;

use crate::keys::{Action, Table};
use crate::text::{fit, width};

/// In columns and rows.
pub(crate) const LEAST: (u16, u16) = (40, 12);

pub(crate) const TITLES: [&str; 9] =
    ["Overview", "Notices", "Feedback", "Members", "Posts", "Analytics", "Log", "Audit", "Sources"];

/// Places among the tabs.
pub(crate) mod tab {
    pub(crate) const NOTICES: usize = 1;
    pub(crate) const FEEDBACK: usize = 2;
    pub(crate) const MEMBERS: usize = 3;
    pub(crate) const POSTS: usize = 4;
    pub(crate) const LOG: usize = 6;
    pub(crate) const AUDIT: usize = 7;
    pub(crate) const SOURCES: usize = 8;
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Areas {
    pub(crate) tabs: Rect,
    pub(crate) title: Rect,
    pub(crate) body: Rect,
    pub(crate) foot: Rect,
}

const ABOVE: u16 = 2;

pub(crate) fn areas(area: Rect) -> Areas {
    // Large terminals have an empty line below the screen, and empty columns around it.
    let air = u16::from(area.height >= 20);
    let side = u16::from(area.width >= 60);
    let inner = Rect { x: area.x + side, width: area.width.saturating_sub(2 * side), ..area };
    let row = |y: u16| Rect { y: area.y + y, height: 1, ..inner }.intersection(area);
    let body = Rect { y: area.y + ABOVE, height: area.height.saturating_sub(ABOVE + 1 + air), ..inner };
    Areas {
        tabs: row(0),
        title: row(1),
        body: body.intersection(area),
        foot: row(area.height.saturating_sub(1)),
    }
}

pub(crate) fn tabs(area: Rect, current: usize, open_feedback: usize) -> Vec<(Rect, String)> {
    let name = |(i, title): (usize, &&str)| match (i, open_feedback) {
        (tab::FEEDBACK, 1..) => format!(" {} {title} {open_feedback}! ", i + 1),
        _ => format!(" {} {title} ", i + 1),
    };
    let narrow = |tab: &String| tab.trim_end().trim_end_matches('!').to_owned();
    // Without blanks and the number of open feedback, all names fit into 80 columns.
    let close = |(i, title): (usize, &&str)| match (i, open_feedback) {
        (tab::FEEDBACK, 1..) => format!(" {}{title}!", i + 1),
        _ => format!(" {}{title}", i + 1),
    };
    let short = |(i, tab): (usize, &String)| if i == current { tab.clone() } else { format!(" {} ", i + 1) };
    let fits = |tabs: &Vec<String>| tabs.iter().map(|tab| width(tab)).sum::<usize>() <= area.width.into();
    let full: Vec<String> = TITLES.iter().enumerate().map(name).collect();
    let narrow: Vec<String> = full.iter().map(narrow).collect();
    let close: Vec<String> = TITLES.iter().enumerate().map(close).collect();
    let numbers = full.iter().enumerate().map(short).collect();
    let shown = [full, narrow, close].into_iter().find(fits).unwrap_or(numbers);
    let mut x = area.x;
    let place = |tab: String| {
        let wide = u16::try_from(width(&tab)).unwrap_or_default();
        let rect = Rect { x, width: wide, ..area }.intersection(area);
        x = x.saturating_add(wide);
        (rect, tab)
    };
    shown.into_iter().map(place).collect()
}

#[derive(Debug)]
pub(crate) struct Hint {
    pub(crate) area: Rect,
    pub(crate) key: &'static str,
    pub(crate) word: &'static str,
    pub(crate) action: Action,
}

pub(crate) fn footer(area: Rect, tables: &[&'static Table]) -> Vec<Hint> {
    let mut shown: Vec<Hint> = Vec::new();
    let wide = |hint: &Hint| u16::try_from(width(hint.key) + width(hint.word) + 3).unwrap_or_default();
    let all = tables.iter().flat_map(|table| table.keys).map(|binding| Hint {
        area,
        key: binding.keys.split(' ').next().unwrap_or_default(),
        word: binding.short,
        action: binding.action,
    });
    // Help and quit come last and are always shown.
    let (last, first): (Vec<_>, Vec<_>) = all
        .filter(|hint| !hint.word.is_empty())
        .partition(|hint| matches!(hint.action, Action::Help | Action::Quit));
    let mut room = area.width.saturating_sub(last.iter().map(wide).sum());
    for hint in first {
        if wide(&hint) > room {
            continue;
        }
        room -= wide(&hint);
        shown.push(hint);
    }
    shown.extend(last);
    let mut x = area.x;
    for hint in &mut shown {
        hint.area = Rect { x, width: wide(hint), ..area }.intersection(area);
        x = x.saturating_add(hint.area.width);
    }
    shown
}

/// `true` marks a title.
pub(crate) fn help(tables: &[&'static Table]) -> Vec<(String, bool)> {
    let mut lines = Vec::new();
    for table in tables {
        if !lines.is_empty() {
            lines.push((String::new(), false));
        }
        lines.push((table.title.to_owned(), true));
        for binding in table.keys {
            lines.push((format!("{}  {}", fit(binding.keys, 16, false), binding.help), false));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::tests::TOGETHER;

    #[test]
    fn at_80_columns_the_footer_has_every_key_of_the_screen() {
        let foot = areas(Rect::new(0, 0, 80, 24)).foot;
        for tables in TOGETHER {
            let shown: Vec<_> = footer(foot, tables).iter().map(|hint| hint.word).collect();
            let own = tables[0].keys.iter().map(|binding| binding.short).filter(|word| !word.is_empty());
            let hidden: Vec<_> = own.filter(|word| !shown.contains(word)).collect();
            // Enter leads from the title to the text, too.
            assert!(hidden.is_empty() || hidden == ["field"], "{}: {hidden:?}", tables[0].title);
        }
    }
}
