//! The data of the tests.

use std::net::{IpAddr, Ipv4Addr};

use tidings_core::account::SignUp;
use tidings_core::analysis::{self, Communication, Operation};
use tidings_core::{feedback, notice, post, search, source};

use super::*;

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

pub(super) fn member(tidings: &Tidings, id: &str, nickname: &str) -> Caller {
    let pw = "correct horse".to_owned();
    let form = SignUp { id: id.into(), pw_check: pw.clone(), pw, nickname: nickname.into(), email: None };
    Caller::token(tidings.call(&Caller::Guest, form.clone()).unwrap().access_token)
}

pub(super) fn draft(title: &str) -> notice::Draft {
    notice::Draft { title: Some(title.into()), post: Some("In hall 1.".into()), ..notice::Draft::default() }
}

pub(super) fn notice(tidings: &Tidings, title: &str, post: &str, shown: bool) -> String {
    let draft = notice::Draft { post: Some(post.into()), activation: Some(shown.into()), ..draft(title) };
    tidings.call(&Caller::Operator, notice::Insert { draft }).unwrap().id.to_string()
}

pub(super) fn wrote(tidings: &Tidings, who: &Caller, on: Option<&str>, kind: &str, text: &str) {
    let message = feedback::Message { kind: Some(kind.into()), post: Some(text.into()), feedback: None };
    match on {
        Some(on) => tidings.call(who, feedback::SendOnNotice { notice_obi: on.into(), message }),
        None => tidings.call(who, feedback::SendGeneral { message }),
    }
    .unwrap();
}

pub(super) fn post(tidings: &Tidings, title: &str, date: &str) -> String {
    let url = title.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let draft = post::Draft {
        title: Some(title.into()),
        post: Some(format!("All there is to say about {title}.\nAnd a second line.")),
        url: Some(format!("https://news.example.org/{url:x}")),
        topic: Some(vec!["campus".into(), "news".into()]),
        tag: Some(vec!["2026".into()]),
        date: Some(date.into()),
        ..post::Draft::default()
    };
    tidings.call(&Caller::Operator, post::Insert { draft }).unwrap().id.to_string()
}

/// Records a request; `from` distinguishes guests.
pub(super) fn asks(tidings: &Tidings, who: &Caller, from: u8, path: &'static str, status: u16) {
    analysis::record(
        tidings,
        &Communication {
            caller: who,
            operation: Operation::new(if path.starts_with("/insert") { "POST" } else { "GET" }, path),
            path,
            status,
            result: if status < 400 { "success" } else { "bad token" },
            address: IpAddr::V4(Ipv4Addr::new(203, 0, 113, from)),
            user_agent: b"okhttp/4.12.0",
        },
    );
}

/// A campus in the middle of a day.
pub(super) fn campus(tidings: &Tidings, clock: &Clock) {
    let end = clock.now();
    // Four weeks of growing traffic.
    clock.advance(-28 * DAY_MS);
    for day in 0..27_u8 {
        for from in 0..4 + day * 2 / 3 + [0, 5, 7, 6, 4, 1, 0][usize::from(day) % 7] {
            asks(tidings, &Caller::Guest, from, "/get_popularity_newsfeed", 200);
        }
        // Otherwise requests of several days are written together, and their visits count in a wrong hour.
        analysis::flush(tidings).unwrap();
        clock.advance(DAY_MS);
    }
    clock.advance(end - clock.now() - DAY_MS - 8 * HOUR_MS);
    let ann = member(tidings, "ann", "Ann");
    let ben = member(tidings, "ben", "Ben of the library");
    member(tidings, "s2026001", "민수");
    tidings.call(&Caller::Operator, tidings_core::admin::Grant { user_id: "ann".into() }).unwrap();
    for (i, (title, text, shown)) in NOTICES.into_iter().enumerate() {
        clock.advance(60_000);
        let id = notice(tidings, title, text, shown);
        for _ in 0..i * 7 {
            tidings.call(&Caller::Operator, notice::Get { notice_obi: id.clone(), html: None }).unwrap();
        }
        if i == 2 {
            wrote(tidings, &ben, Some(&id), "question", "Is the reading room open as well?\nAnd on Sunday?");
        }
    }
    clock.advance(60_000);
    wrote(tidings, &ben, None, "bug", "The search finds nothing for “café”.");
    clock.advance(60_000);
    wrote(tidings, &ann, None, "praise", "Thank you for the new feeds.");
    let done = tidings.call(&Caller::Operator, feedback::ListAll {}).unwrap().feedback_list.remove(0).id;
    tidings.call(&Caller::Operator, feedback::Mark { feedback_obi: done.clone(), activation: 0 }).unwrap();
    let posts: Vec<String> = POSTS.into_iter().map(|(title, date)| post(tidings, title, date)).collect();
    // Hour by hour from midnight of yesterday, with more traffic every hour.
    for hour in 0..33_u8 {
        clock.advance(end - clock.now() - DAY_MS - 8 * HOUR_MS - 36 * 60_000 + i64::from(hour) * HOUR_MS);
        for from in 0..hour % 24 {
            asks(tidings, &Caller::Guest, from, "/get_popularity_newsfeed", 200);
            clock.advance(1_000);
        }
        if hour % 3 == 0 {
            asks(tidings, &ben, 0, "/get_userinfo", 200);
            post::view(tidings, &ben, &posts[usize::from(hour) % 3]).wait().unwrap();
            post::view(tidings, &Caller::Guest, &posts[0]).wait().unwrap();
            let term = ["도서관", "library hours", "exam"][usize::from(hour) / 3 % 3];
            search::log(tidings, &ben, None, term).wait().unwrap();
            let device = ["pc", "mobile", "mobile", "tablet"][usize::from(hour) % 4];
            analysis::insert_device(tidings, device).wait().unwrap();
        }
        analysis::flush(tidings).unwrap();
    }
    post::like(tidings, &ben, &posts[1]).wait().unwrap();
    asks(tidings, &ann, 0, "/insert_notice", 200);
    asks(tidings, &Caller::Guest, 9, "/insert_notice", 401);
    clock.advance(end - clock.now());
    analysis::insert_device(tidings, "pc").wait().unwrap();
    analysis::flush(tidings).unwrap();
}

const NOTICES: [(&str, &str, bool); 5] = [
    ("Exam week", "The library is open all night from Monday on.", true),
    ("New feeds", "Posts are recommended by what you read.", true),
    (
        "Library hours",
        "Open until ten in the evening.\n\nThe reading room on the third floor closes at eight.",
        true,
    ),
    ("Maintenance on Sunday", "Sign-in pauses from 02:00 to 02:10.", false),
    ("Welcome", "This is where the campus reads what is new.", true),
];

const POSTS: [(&str, &str); 4] = [
    ("Robotics club wins the cup", "2026-11-18"),
    ("Cafeteria: the new menu", "2026-11-17"),
    ("Scholarships for spring", "2026-11-15"),
    ("Old timetable", "2026-09-01"),
];

/// Texts that are long, wide, composed of several characters, or unsafe for a terminal.
pub(super) fn wide(tidings: &Tidings, clock: &Clock) {
    let text = "열람실은 밤 열 시까지 열려 있습니다. 図書館は夜十時まで。 👩‍👩‍👧‍👦 café e\u{301} \u{202e}backwards\u{202c} ";
    let ann = member(tidings, "ann-with-an-id-of-30-character", "도서관을 사랑하는 사람들의 모임 👍");
    let titles =
        ["도서관 열람실 이용 시간 안내와 시험 기간 연장 운영", "👩‍👩‍👧‍👦🇰🇷👍🏽 emoji", "\u{202e}nwod edispu"];
    for (i, title) in titles.into_iter().enumerate() {
        clock.advance(1_000);
        let id = notice(tidings, title, &text.repeat(20), i != 1);
        // Members cannot send feedback on a hidden notice.
        let on = (i != 1).then_some(id.as_str());
        wrote(tidings, &ann, on, "건의사항 👍", &text.repeat(3));
        post(tidings, &format!("{title} {}", "가".repeat(80)), "2026-11-20");
        search::log(tidings, &ann, None, text.get(..61).unwrap()).wait().unwrap();
    }
    asks(tidings, &ann, 0, "/get_newsfeed_of_topic/%EB%8C%80%ED%95%99", 200);
    analysis::insert_device(tidings, "pc").wait().unwrap();
    for number in 0..2 {
        let url = format!("https://도서관.example.org/{}/{number}", "가".repeat(80));
        let name = Some("도서관 열람실 이용 시간 안내 👩‍👩‍👧‍👦 e\u{301}".to_owned());
        tidings.call(&Caller::Operator, source::Add { url, name, ..source::Add::default() }).unwrap();
    }
}
