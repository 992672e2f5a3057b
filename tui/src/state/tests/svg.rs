//! A drawn screen as an SVG picture, with the colours of a dark terminal.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

/// The width and the height of a cell.
const WIDE: usize = 9;
const HIGH: usize = 18;
const GROUND: &str = "#16181d";
const INK: &str = "#d8dbe2";

/// Neighbouring rectangles of one style in a row.
struct Bar {
    x: usize,
    y: usize,
    wide: usize,
    high: usize,
    style: String,
}

/// Characters of one style in a row, each with its place.
struct Run {
    style: String,
    places: Vec<String>,
    text: String,
}

#[derive(Default)]
struct Row {
    bars: Vec<Bar>,
    runs: Vec<Run>,
}

/// Returns a buffer as a picture.
pub(super) fn of(buffer: &Buffer) -> String {
    let (columns, rows) = (usize::from(buffer.area.width), usize::from(buffer.area.height));
    let (wide, high) = (columns * WIDE + 2 * WIDE, rows * HIGH + HIGH);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" width=\"{wide}\" height=\"{high}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{GROUND}\"/>\n\
         <g font-family=\"ui-monospace, 'DejaVu Sans Mono', 'Noto Sans Mono CJK KR', monospace\" font-size=\"15\">\n"
    );
    for row in 0..rows {
        let (mut parts, mut column, top) = (Row::default(), 0, HIGH / 2 + row * HIGH);
        while column < columns {
            let cell = &buffer.content[row * columns + column];
            let cells = crate::text::width(cell.symbol()).max(1);
            parts.draw(cell, (WIDE + column * WIDE, top), cells);
            column += cells;
        }
        // Writing to a string cannot fail.
        for Bar { x, y, wide, high, style } in parts.bars {
            let _ = writeln!(svg, "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\" {style}/>");
        }
        for Run { style, places, text } in parts.runs {
            let (x, y) = (places.join(" "), top + HIGH * 3 / 4);
            let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" {style}>{text}</text>");
        }
    }
    svg + "</g>\n</svg>\n"
}

impl Row {
    fn draw(&mut self, cell: &Cell, (x, y): (usize, usize), cells: usize) {
        let (symbol, style) = (cell.symbol(), cell.style());
        let has = |modifier| style.add_modifier.contains(modifier);
        let mut ink = match cell.fg {
            Color::Cyan => "#56b6c2",
            Color::Green => "#98c379",
            Color::Red => "#e06c75",
            Color::Magenta => "#c678dd",
            _ => INK,
        };
        if has(Modifier::REVERSED) {
            self.bar((x, y, cells * WIDE, HIGH), format!("fill=\"{ink}\""));
            ink = GROUND;
        }
        let faint = if has(Modifier::DIM) { " opacity=\"0.6\"" } else { "" };
        if let Some((left, top, wide, high)) = block(symbol) {
            let opacity = if symbol == "░" { " opacity=\"0.35\"" } else { faint };
            self.bar((x + left, y + top, wide, high), format!("fill=\"{ink}\"{opacity}"));
        } else if !symbol.trim().is_empty() {
            let bold = if has(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
            self.letter(x, symbol, format!("fill=\"{ink}\"{bold}{faint}"));
        }
    }

    fn bar(&mut self, (x, y, wide, high): (usize, usize, usize, usize), style: String) {
        match self.bars.last_mut() {
            Some(bar) if (bar.x + bar.wide, bar.y, bar.high, &bar.style) == (x, y, high, &style) => {
                bar.wide += wide;
            }
            _ => self.bars.push(Bar { x, y, wide, high, style }),
        }
    }

    fn letter(&mut self, x: usize, symbol: &str, style: String) {
        assert_eq!(symbol.chars().count(), 1, "each character has a place: {symbol}");
        if self.runs.last().is_none_or(|run| run.style != style) {
            self.runs.push(Run { style, places: Vec::new(), text: String::new() });
        }
        let run = self.runs.last_mut().unwrap();
        run.places.push(x.to_string());
        run.text += &symbol.replace('&', "&amp;").replace('<', "&lt;");
    }
}

/// Returns the part of its cell that a block character fills: left, top, width and height.
fn block(symbol: &str) -> Option<(usize, usize, usize, usize)> {
    let upright = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    if symbol == "░" {
        return Some((0, 0, WIDE, HIGH));
    }
    if let Some(eighths) = upright.iter().position(|block| *block == symbol) {
        let high = HIGH * (eighths + 1) / 8;
        return Some((0, HIGH - high, WIDE, high));
    }
    match symbol {
        "━" => Some((0, HIGH / 2 - 2, WIDE, 4)),
        "╸" => Some((0, HIGH / 2 - 2, WIDE / 2, 4)),
        _ => None,
    }
}
