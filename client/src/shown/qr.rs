use qrcode::render::Renderer;
use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};

/// In modules.
const MARGIN: u32 = 2;

/// Returns the lines of a QR code with its margin; a character is two modules, one above the other. `is_dark` tells whether the
/// terminal shows light text on a dark ground: then the blocks are the light modules, so that the code has its usual colours.
/// `None` if the text is too long for a code.
pub fn lines(text: &str, is_dark: bool) -> Option<Vec<String>> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    let (dark, light) =
        if is_dark { (Dense1x2::Light, Dense1x2::Dark) } else { (Dense1x2::Dark, Dense1x2::Light) };
    let modules = code.to_colors();
    let image = Renderer::new(&modules, code.width(), MARGIN).dark_color(dark).light_color(light).build();
    // The number of modules is odd, so the last line has only one row of the margin.
    let mut lines: Vec<String> = image.lines().map(str::to_owned).collect();
    lines.last_mut().into_iter().for_each(|last| *last = last.replace('▀', "█"));
    Some(lines)
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
