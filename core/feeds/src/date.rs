//! Dates in every form that feeds have. The reader does not try one format after the other: it takes the time of day and the zone
//! out of the text, and then looks for a year, a month and a day in the rest.

use jiff::SignedDuration;
use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::tz::TimeZone;

/// One line per number of minutes east of Greenwich. RFC 822 defines the American names.
const ZONES: &str = include_str!("date/zones.txt");

/// The beginnings of the names of months, a line for each, in 40 languages of Europe and its neighbours, with enough letters that
/// no other month or weekday begins so. One with a point is a whole word. Source: Unicode Common Locale Data Repository.
const MONTHS: &str = include_str!("date/months.txt");

/// The beginnings of the names of weekdays, a line for each from Monday on, in the most frequent languages of dates.
const WEEKDAYS: &str = include_str!("date/weekdays.txt");

/// Returns milliseconds since 1970. Without a zone, or with an unknown one, the date is in UTC. `None` if it is blank, or in the
/// years before 1000, which programs write for no date.
pub(crate) fn parse(text: &str) -> Result<Option<i64>, ()> {
    // Korean names the units of a time, and East Asian text may use a full-width colon.
    let text = text.trim().replace("시 ", ":").replace(['시', '：'], ":").replace(['분', '초'], " ");
    let mut text = text.replace("a.m.", "am").replace("p.m.", "pm").replace("p. m.", "pm");
    if text.is_empty() || text.len() > 200 {
        return if text.is_empty() { Ok(None) } else { Err(()) };
    }
    if let Some(at) = since_1970(&text) {
        return Ok(Some(at));
    }
    let all_digits = text.split(|c: char| !c.is_ascii_digit()).find(|digits| matches!(digits.len(), 12 | 14));
    if let Some((date, time)) = all_digits.and_then(|digits| digits.split_at_checked(8)) {
        text = text.replacen(&format!("{date}{time}"), &format!("{date}T{time}"), 1);
    }
    let clock = Clock::find(&text);
    let (before, after) =
        clock.as_ref().map_or((&*text, ""), |clock| (&text[..clock.begin], &text[clock.end..]));
    let (offset, after) = zone(after);
    let mut words = Words::default();
    words.add(before);
    words.add(after);
    let Some(date) = words.date()? else { return Ok(None) };
    let clock = clock.unwrap_or_default();
    let hour = match (words.half, clock.hour) {
        (Some(Half::Morning), 12) => 0,
        (Some(Half::Afternoon), hour @ 1..12) => hour + 12,
        (_, hour) => hour,
    };
    let is_end_of_day = hour == 24 && clock.minute == 0 && clock.milliseconds == 0;
    if hour > 23 && !is_end_of_day || clock.minute > 59 || clock.milliseconds > 60_999 {
        return Err(());
    }
    let since_midnight = (hour * 60 + clock.minute) * 60_000 + clock.milliseconds.min(59_999);
    let midnight = date.to_zoned(TimeZone::UTC).map_err(|_| ())?.timestamp();
    let at = midnight.checked_add(SignedDuration::from_millis(since_midnight)).map_err(|_| ())?;
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '+');
    let mut names = text.split(|c| !is_of_name(c)).filter(|name| name.contains('/'));
    let at = match (offset.or(words.offset), names.find_map(|name| TimeZone::get(name).ok())) {
        (None, Some(zone)) => zone.to_timestamp(TimeZone::UTC.to_datetime(at)),
        (offset, _) => at.checked_sub(SignedDuration::from_mins(offset.unwrap_or_default().into())),
    };
    at.map(|at| Some(at.as_millisecond())).map_err(|_| ())
}

/// The length tells seconds from milliseconds and microseconds. Fractions are ignored.
fn since_1970(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let number = whole.parse::<i64>().ok().filter(|_| fraction.bytes().all(|byte| byte.is_ascii_digit()))?;
    match whole.len() {
        9 | 10 => Some(number * 1000),
        13 => Some(number),
        16 => Some(number / 1000),
        _ => None,
    }
}

#[derive(Default)]
struct Clock {
    begin: usize,
    end: usize,
    hour: i64,
    minute: i64,
    milliseconds: i64,
}

impl Clock {
    /// `8:36`, `08:36:00`, `08:36:00.123`, or `T0836` and `T083600`.
    fn find(text: &str) -> Option<Self> {
        let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        let mut colons = text.match_indices(':').map(|(at, _)| at);
        let Some(colon) = colons.find(|at| is_digit(at.wrapping_sub(1)) && is_digit(at + 1)) else {
            return Self::without_colons(text);
        };
        let begin = text[..colon].trim_end_matches(|c: char| c.is_ascii_digit()).len();
        if text[..begin].ends_with('+') {
            // The offset of a date without a time.
            return None;
        }
        let mut rest = &text[colon + 1..];
        let (hour, minute) = (text[begin..colon].parse().ok()?, number(&mut rest)?);
        let mut milliseconds = 0;
        if let Some(mut seconds) = rest.strip_prefix(':') {
            milliseconds = number(&mut seconds)? * 1000;
            rest = seconds;
            if let Some(fraction) = rest.strip_prefix(['.', ',']) {
                let end = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
                let digits = format!("{:0<3}", &fraction[..end]);
                milliseconds += digits[..3].parse::<i64>().ok()?;
                rest = &fraction[end..];
            }
        }
        Some(Self { begin, end: text.len() - rest.len(), hour, minute, milliseconds })
    }

    fn without_colons(text: &str) -> Option<Self> {
        let t = text.find('T').filter(|t| text[..*t].ends_with(|c: char| c.is_ascii_digit()))?;
        let digits = &text[t + 1..];
        let digits = &digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())];
        let part = |from: usize| digits.get(from..from + 2).map_or(Some(0), |part| part.parse().ok());
        let (hour, minute, seconds): (_, _, i64) = (part(0)?, part(2)?, part(4)?);
        let is_time = matches!(digits.len(), 2 | 4 | 6);
        let end = t + 1 + digits.len();
        is_time.then_some(Self { begin: t, end, hour, minute, milliseconds: seconds * 1000 })
    }
}

/// One or two digits at the start.
fn number(text: &mut &str) -> Option<i64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..end].parse().ok().filter(|_| end <= 2)?;
    *text = &text[end..];
    Some(number)
}

/// An offset in minutes after a time, such as `+0900`, ` +09:00`, `GMT+9` or `Z`. Also returns the rest.
fn zone(text: &str) -> (Option<i16>, &str) {
    let after = text.trim_start();
    let named =
        ["GMT", "UTC", "UT"].iter().find_map(|name| after.strip_prefix(name)).unwrap_or(after).trim_start();
    let Some(sign) = named.chars().next().filter(|c| matches!(c, '+' | '-' | '−')) else {
        return (None, text);
    };
    let rest = &named[sign.len_utf8()..];
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(rest.len());
    let digits = rest[..end].replace(':', "");
    let (hours, minutes) = digits.split_at(match digits.len() {
        0 | 5.. => return (None, text),
        1 | 2 => digits.len(),
        more => more - 2,
    });
    let number = |text: &str| text.parse::<i16>().unwrap_or_default();
    let offset = number(hours) * 60 + number(minutes);
    if offset > 26 * 60 {
        return (None, text);
    }
    (Some(if sign == '+' { offset } else { -offset }), &rest[end..])
}

#[derive(Clone, Copy)]
enum Half {
    Morning,
    Afternoon,
}

#[derive(Default)]
struct Words {
    /// With their lengths.
    numbers: Vec<(i64, usize)>,
    /// The second value is whether the word may be a weekday: `mar` is also a Tuesday, in French and Spanish.
    month: Option<(i8, bool)>,
    weekday: Option<Weekday>,
    has_unknown: bool,
    half: Option<Half>,
    offset: Option<i16>,
    is_week: bool,
    has_dot: bool,
}

impl Words {
    fn add(&mut self, text: &str) {
        self.has_dot |= text.contains('.');
        let kind = |c: char| (c.is_ascii_digit(), c.is_alphabetic());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|c| kind(c) != kind(first)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            match kind(first) {
                (true, _) => self.numbers.push((word.parse().unwrap_or(i64::MAX), word.len())),
                (_, true) => self.add_word(&word.to_lowercase()),
                (false, false) => {}
            }
            rest = after;
        }
    }

    fn add_word(&mut self, word: &str) {
        match word {
            "am" | "오전" | "上午" | "午前" => self.half = Some(Half::Morning),
            "pm" | "오후" | "下午" | "午後" => self.half = Some(Half::Afternoon),
            "w" => self.is_week = true,
            _ if zone_named(word).is_some() => self.offset = zone_named(word),
            _ => {
                let (month, weekday) = (month(word), weekday(word));
                // A short word is a unit, such as the Korean ones.
                self.has_unknown |= month.is_none() && weekday.is_none() && word.chars().count() > 2;
                // The last one counts.
                self.month = month.map(|month| (month, weekday.is_some())).or(self.month);
                self.weekday = weekday.or(self.weekday);
            }
        }
    }

    fn date(&self) -> Result<Option<Date>, ()> {
        let numbers: Vec<i64> = self.numbers.iter().map(|(number, _)| *number).collect();
        let year_at = self.numbers.iter().position(|(number, length)| *length == 4 || *number > 31);
        let part = |number: i64| i8::try_from(number).map_err(|_| ());
        let civil = |year: i64, month: i64, day: i64| -> Result<Option<Date>, ()> {
            if year < 1000 {
                return Ok(None);
            }
            let year = i16::try_from(year).map_err(|_| ())?;
            Date::new(year, part(month)?, part(day)?).map(Some).map_err(|_| ())
        };
        let full = |year: i64, length: usize| match year {
            0..50 if length <= 2 => year + 2000,
            50..100 if length <= 2 => year + 1900,
            year => year,
        };
        if let Some((month, _)) = self.month.filter(|(_, is_doubtful)| !is_doubtful || numbers.len() != 3) {
            let year_at = year_at.or_else(|| (numbers.len() == 2).then_some(1)).ok_or(())?;
            let day = numbers.iter().enumerate().find(|(at, _)| *at != year_at).map_or(1, |(_, day)| *day);
            return civil(full(numbers[year_at], self.numbers[year_at].1), month.into(), day);
        }
        match *numbers.as_slice() {
            [packed] if self.numbers[0].1 == 8 => civil(packed / 10_000, packed / 100 % 100, packed % 100),
            [year, week, ref day @ ..] if self.is_week => {
                let day = part(day.first().copied().unwrap_or(1))?;
                let weekday = Weekday::from_monday_one_offset(day).map_err(|_| ())?;
                let year = i16::try_from(year).map_err(|_| ())?;
                ISOWeekDate::new(year, part(week)?, weekday).map(|day| Some(day.date())).map_err(|_| ())
            }
            [year, day] if self.numbers[1].1 == 3 => {
                let first = civil(year, 1, 1)?;
                let day = i16::try_from(day).map_err(|_| ())?;
                first.map(|first| first.with().day_of_year(day).build().map_err(|_| ())).transpose()
            }
            [year] if self.numbers[0].1 == 4 && !self.has_unknown => civil(year, 1, 1),
            [year, month] if year_at == Some(0) && !self.has_unknown => civil(year, month, 1),
            [year, month, day, ..] if year_at == Some(0) => civil(year, month, day),
            [first, second, year] if year_at == Some(2) || year_at.is_none() && self.weekday.is_some() => {
                let year = full(year, self.numbers[2].1);
                let orders = [civil(year, second, first), civil(year, first, second)];
                if orders.contains(&Ok(None)) {
                    return Ok(None);
                }
                // The weekday tells which number is the month, unless only one can be, or it is wrong.
                let mut possible: Vec<Date> = orders.into_iter().flatten().flatten().collect();
                possible.dedup();
                let is_of_day = |date: &&Date| self.weekday == Some(date.weekday());
                match (&*possible, possible.iter().find(is_of_day)) {
                    ([date], _) | (_, Some(date)) => Ok(Some(*date)),
                    // With points, the day comes first.
                    ([date, _], _) if self.has_dot => Ok(Some(*date)),
                    _ => Err(()),
                }
            }
            _ => Err(()),
        }
    }
}

/// The name of the month begins like the word, or the word abbreviates its only name.
fn month(word: &str) -> Option<i8> {
    let of_month =
        |(names, month): (&'static str, i8)| names.split_whitespace().map(move |name| (name, month));
    let names = || MONTHS.lines().zip(1..).flat_map(of_month);
    let is_whole = |name: &str| match name.strip_suffix('.') {
        Some(name) => word == name,
        None => word.starts_with(name),
    };
    if let Some((_, month)) = names().filter(|(name, _)| is_whole(name)).max_by_key(|(name, _)| name.len()) {
        return Some(month);
    }
    let mut abbreviated = names().filter(|(name, _)| name.starts_with(word) && word.chars().count() > 2);
    let (_, month) = abbreviated.next()?;
    abbreviated.all(|(_, other)| other == month).then_some(month)
}

fn weekday(word: &str) -> Option<Weekday> {
    let at = WEEKDAYS.lines().position(|names| names.split(' ').any(|name| word.starts_with(name)))?;
    Weekday::from_monday_one_offset(i8::try_from(at).ok()? + 1).ok()
}

fn zone_named(word: &str) -> Option<i16> {
    let mut zones = ZONES.lines().filter_map(|line| line.split_once(' '));
    zones.find(|(_, names)| names.split(' ').any(|name| name == word))?.0.parse().ok()
}

#[cfg(test)]
mod tests;
