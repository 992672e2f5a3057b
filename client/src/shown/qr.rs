//! QR codes as lines of text.

use qrcode::{Color, EcLevel, QrCode};

/// In modules.
const MARGIN: usize = 2;

/// Returns the lines of a QR code with its margin; a character is two modules, one above the other. `is_dark` tells whether the
/// terminal shows light text on a dark ground: then the blocks are the light modules, so that the code has its usual colours.
/// `None` if the text is too long for a code.
pub fn lines(text: &str, is_dark: bool) -> Option<Vec<String>> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    let (width, modules) = (code.width(), code.to_colors());
    let is_block = |x: usize, y: usize| {
        let place =
            x.checked_sub(MARGIN).zip(y.checked_sub(MARGIN)).filter(|(x, y)| *x < width && *y < width);
        let module = place.map_or(Color::Light, |(x, y)| modules[y * width + x]);
        (module == Color::Dark) != is_dark
    };
    let side = width + 2 * MARGIN;
    let line = |y: usize| {
        let character = |x| match (is_block(x, y), is_block(x, y + 1)) {
            (true, true) => '█',
            (true, false) => '▀',
            (false, true) => '▄',
            (false, false) => ' ',
        };
        (0..side).map(character).collect()
    };
    Some((0..side).step_by(2).map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_a_margin_and_fits_a_terminal_of_80_columns_and_24_rows() {
        let uri = "otpauth://totp/tidings:an-id-of-30-characters-in-all.?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=tidings";
        for (is_dark, margin) in [(true, '█'), (false, ' ')] {
            let lines = lines(uri, is_dark).unwrap();
            assert!(lines.len() <= 24 && lines.iter().all(|line| line.chars().count() == 41), "{lines:?}");
            let is_margin = |line: &String| line.chars().all(|c| c == margin);
            assert!(is_margin(&lines[0]) && is_margin(&lines[lines.len() - 1]), "{lines:?}");
            assert!(lines.iter().all(|line| line.starts_with(margin) && line.ends_with(margin)));
            assert!(lines.concat().chars().all(|c| " █▀▄".contains(c)), "nothing else, such as colours");
        }
        assert_eq!(lines(&"x".repeat(5_000), true), None);
    }
}
