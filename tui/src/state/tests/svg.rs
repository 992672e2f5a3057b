//! A drawn screen as an SVG picture, with the colours of a dark terminal.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

/// The width and the height of a cell.
const WIDE: usize = 9;
const HIGH: usize = 18;
const GROUND: &str = "#16181d";
const INK: &str = "#d8dbe2";

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
        let mut column = 0;
        while column < columns {
            let cell = &buffer.content[row * columns + column];
            let cells = crate::text::width(cell.symbol()).max(1);
            draw(&mut svg, cell, (WIDE + column * WIDE, HIGH / 2 + row * HIGH), cells);
            column += cells;
        }
    }
    svg + "</g>\n</svg>\n"
}

fn draw(svg: &mut String, cell: &Cell, (x, y): (usize, usize), cells: usize) {
    let (symbol, style) = (cell.symbol(), cell.style());
    let has = |modifier| style.add_modifier.contains(modifier);
    let mut ink = match cell.fg {
        Color::Cyan => "#56b6c2",
        Color::Green => "#98c379",
        Color::Red => "#e06c75",
        Color::Magenta => "#c678dd",
        _ => INK,
    };
    // Writing to a string cannot fail.
    if has(Modifier::REVERSED) {
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{HIGH}\" fill=\"{ink}\"/>",
            cells * WIDE
        );
        ink = GROUND;
    }
    let faint = if has(Modifier::DIM) { " opacity=\"0.6\"" } else { "" };
    if let Some((left, top, wide, high)) = block(symbol) {
        let (x, y) = (x + left, y + top);
        let opacity = if symbol == "░" { " opacity=\"0.35\"" } else { faint };
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\" fill=\"{ink}\"{opacity}/>"
        );
    } else if !symbol.trim().is_empty() {
        let bold = if has(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
        let text = symbol.replace('&', "&amp;").replace('<', "&lt;");
        let base = y + HIGH * 3 / 4;
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{base}\" fill=\"{ink}\"{bold}{faint}>{text}</text>");
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
