//! The dialog that enables a second factor. It covers the whole terminal, because a QR code needs most of 24 rows.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Clear, Paragraph, Widget as _};

use crate::effect::{Act, Change, Changed, Kind, Work};
use crate::keys::Action;
use crate::screen::{Ctx, Out};
use crate::text::wrap;
use crate::theme::Theme;
use crate::widget::fields::{Field, Fields};
use crate::widget::input::Input;
use tidings_client::shown::qr;
use tidings_core::account::{BeginOtp, EnableOtp};

pub(crate) struct SecondFactor {
    step: Step,
    fields: Fields,
}

enum Step {
    Begin,
    /// Asks for the first code of the authenticator, with the address for its QR code.
    Enable(String),
    Done(String),
}

impl SecondFactor {
    pub(crate) fn new() -> Self {
        let password = Field::new("Password", Input::hidden(), "");
        let code = Field::new("Enrolment", Input::default(), "where administrators need it");
        Self { step: Step::Begin, fields: Fields::new(vec![password, code]) }
    }

    pub(crate) fn key(&mut self, action: Option<Action>, key: KeyEvent, out: &mut Out) -> bool {
        match (action, &self.step) {
            (Some(Action::Back), _) | (Some(Action::Open), Step::Done(_)) => return false,
            (Some(Action::Open), Step::Begin) if self.fields.focus() == 0 => self.fields.set_focus(1),
            (Some(Action::Open), Step::Begin) => {
                let [pw, code] = [0, 1].map(|field| self.fields.text(field).to_owned());
                let operation =
                    BeginOtp { pw, enrolment_code: Some(code).filter(|code| !code.trim().is_empty()) };
                let work = Work::call(operation).map(|secret| Some(secret.uri.to_string()));
                out.act(Act::new(None, Kind::BeginOtp, None, work));
            }
            (Some(Action::Open), Step::Enable(_)) => {
                let work = Work::call(EnableOtp { otp: self.fields.text(0).to_owned() });
                let work = work.map(|codes| Some(codes.recovery_codes.join("\n")));
                let done = "The second factor is enabled.".to_owned();
                out.act(Act::new(None, Kind::EnableOtp, done, work));
            }
            (Some(Action::Up), Step::Begin) => self.fields.set_focus(0),
            (Some(Action::Down), Step::Begin) => self.fields.set_focus(1),
            (None, Step::Begin) if matches!(key.code, KeyCode::Tab | KeyCode::BackTab) => {
                self.fields.set_focus(1 - self.fields.focus().min(1));
            }
            (None, _) => drop(self.fields.key(key)),
            _ => {}
        }
        true
    }

    pub(crate) fn paste(&mut self, text: &str) {
        self.fields.paste(text);
    }

    pub(crate) fn change_done(&mut self, change: &Change, result: Changed) {
        match (&change.kind, result) {
            (Kind::BeginOtp, Ok(Some(uri))) => {
                self.step = Step::Enable(uri.to_owned());
                self.fields = Fields::new(vec![Field::new("First code", Input::default(), "")]);
            }
            (Kind::EnableOtp, Ok(Some(codes))) => {
                self.step = Step::Done(codes.to_owned());
                self.fields = Fields::new(Vec::new());
            }
            (Kind::BeginOtp | Kind::EnableOtp, Err(problem)) => {
                let field = usize::from(problem.field.as_deref() == Some("enrolment_code"));
                self.fields.refuse(field, problem.text.clone());
            }
            _ => {}
        }
    }

    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
        Clear.render(area, buf);
        let mut area = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
        let mut code = Vec::new();
        if let Step::Enable(uri) = &self.step {
            code = qr::lines(uri, !ctx.theme.has_colours()).unwrap_or_default();
        }
        let wide = code.first().map_or(0, |line| u16::try_from(line.chars().count()).unwrap_or(u16::MAX));
        let fits = code.len() <= area.height.into() && wide.saturating_add(26) <= area.width;
        if fits {
            for (y, line) in (area.y..area.bottom()).zip(&code) {
                buf.set_string(area.x, y, line, ctx.theme.black_on_white());
            }
            let left = if wide == 0 { 0 } else { wide + 2 };
            area = Rect { x: area.x + left, width: area.width - left, ..area };
        }
        let mut lines = Vec::new();
        let mut put = |text: &str, style| {
            lines.extend(wrap(text, area.width.into()).into_iter().map(|line| Line::styled(line, style)));
        };
        put("Your second factor", Theme::strong());
        match &self.step {
            Step::Begin => {
                let text =
                    "After this, a sign-in needs a code of your authenticator. Your other sessions end.";
                put(text, Theme::faint());
            }
            Step::Enable(uri) => {
                let scan = if fits { "Scan the code, or type the secret:" } else { "Type the secret:" };
                put(scan, Theme::faint());
                put(secret(uri), Theme::strong());
                put("Then type the code that the authenticator shows.", Theme::faint());
            }
            Step::Done(codes) => {
                let text = "It is enabled. Keep the recovery codes, each of which replaces a code once:";
                put(text, Theme::faint());
                codes.lines().for_each(|code| put(code, Theme::strong()));
            }
        }
        let is_done = matches!(self.step, Step::Done(_));
        put(if is_done { "Enter closes." } else { "Enter continues, Esc cancels." }, Theme::faint());
        let below = u16::try_from(lines.len() + 1).unwrap_or(u16::MAX).min(area.height);
        Paragraph::new(lines).render(area, buf);
        let fields = Rect { y: area.y + below, height: area.height - below, ..area };
        self.fields.draw(fields, buf, ctx.theme);
    }
}

/// `uri` is an `otpauth` address.
fn secret(uri: &str) -> &str {
    let (_, secret) = uri.split_once("secret=").unwrap_or_default();
    secret.split('&').next().unwrap_or_default()
}
