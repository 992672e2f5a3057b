use serde_json::Value;

use super::*;
use crate::analysis::{self, GetPeriod, LOG_MAX};
use crate::base::config::Config;
use crate::newsfeed::{self, Page};
use crate::testing::{self, NOW, Service, service_at};

const SMALL: Size = Size { seed: 7, members: 30, posts: 60, days: 6 };

fn made(size: Size) -> (Service, Demo) {
    let mut config = Config::default();
    config.analysis.timezone = Some("Asia/Seoul".parse().unwrap());
    let service = service_at(NOW, config);
    let demo = make(&service, &Caller::Operator, size, &mut to_the_end).unwrap();
    (service.reopened(), demo)
}

fn value<T: Serialize>(report: T) -> Value {
    serde_json::to_value(report).unwrap()
}

fn feed(answer: &newsfeed::FeedPage) -> Value {
    serde_json::from_slice::<Value>(answer.answer().json()).unwrap()["newsfeed"].take()
}

fn lists(service: &Service, id: &str) -> Value {
    let caller = Caller::Member(id.into());
    value(service.call(&caller, crate::profile::GetLists { type_num: "0".into() }).unwrap())
}

fn figures(service: &Service) -> analysis::Analysis {
    service.call(&Caller::Guest, analysis::GetSummary {}).unwrap().fields().analysis
}

#[test]
fn totals_agree_with_their_parts() {
    let (service, demo) = made(SMALL);
    assert_eq!((demo.members, demo.posts), (30, 60));
    let figures = figures(&service);
    assert_eq!(figures.posts_count, 60);
    assert_eq!(figures.communication_avg, service.number("SELECT count(*) FROM log"));
    assert!(figures.total_visitor > 20 && figures.total_view > 60 && figures.total_fav > 5, "{figures:?}");

    let period = GetPeriod { first: "2026-11-15".into(), last: "2026-11-20".into() };
    let period = service.call(&Caller::Operator, period).unwrap();
    assert_eq!(period.days.len(), 6);
    let sum = |of: fn(&analysis::DayFigures) -> i64| period.days.iter().map(of).sum::<i64>();
    assert_eq!(sum(|day| day.visitor), figures.total_visitor);
    assert_eq!(sum(|day| day.view), figures.total_view);
    assert_eq!(sum(|day| day.like), figures.total_fav);
    assert_eq!(sum(|day| day.search), figures.search_count);
    assert_eq!(sum(|day| day.communication), figures.communication_avg);
    assert_eq!(sum(|day| day.visit), period.students.iter().map(|s| s.count).sum::<i64>());
    assert!(period.days.iter().all(|day| day.visitor > 0 && day.visit >= day.visitor), "{period:?}");
    // The hourly counts add up to the daily ones.
    for (counter, hourly) in [(1, 224), (2, 248), (3, 272), (5, 320), (8, 392), (14, 536)] {
        let by =
            |range: String| service.number(&format!("SELECT sum(n) FROM day_count WHERE counter {range}"));
        let hours = format!("BETWEEN {hourly} AND {}", hourly + 23);
        assert_eq!(by(format!("= {counter}")), by(hours), "{counter}");
    }
}

#[test]
fn every_report_has_data() {
    let (service, demo) = made(Size { days: 30, ..SMALL });
    let trends = service.call(&Caller::Guest, analysis::GetRealtime {}).unwrap().fields();
    assert!(!trends.search_realtime.is_empty());
    let devices = service.call(&Caller::Guest, analysis::GetDevices {}).unwrap().fields();
    assert!(devices.mobile > devices.tablet && devices.tablet > 0, "{devices:?}");
    let lists = lists(&service, &demo.keen);
    for list in ["fav_list", "view_list", "search_list", "newsfeed_list"] {
        assert!(!lists[list].as_array().unwrap().is_empty(), "{list}");
    }
    let log = analysis::GetLogDate { months: 0, days: 6, hours: 0, limit: LOG_MAX };
    let log = service.call(&Caller::Operator, log).unwrap().log;
    assert!(log.iter().all(|line| line.date <= NOW) && log.iter().any(|line| line.user_id == demo.keen));
    assert_eq!(service.call(&Caller::Operator, notice::List::default()).unwrap().notices().len(), 7);
    assert_eq!(service.call(&Caller::Operator, feedback::ListAll {}).unwrap().feedback_list.len(), 8);
}

#[test]
fn no_two_posts_have_the_same_title() {
    for posts in [600, 5_000] {
        let size = Size { members: 1, posts, days: 1, seed: 3 };
        let world = World::new(size, NOW, &testing::service().analysis().calendar.local_time(), "");
        let lines: String = world.posts.iter().map(|post| &*post.line).collect();
        let title = |line: &str| serde_json::from_str::<Value>(line).unwrap()["title"].to_string();
        let titles: std::collections::HashSet<String> = lines.lines().map(title).collect();
        assert_eq!(titles.len(), lines.lines().count());
        if posts == 600 {
            assert!(!titles.iter().any(|title| title.contains('(')), "{titles:?}");
        }
    }
}

#[test]
fn similar_words_are_of_the_subject_and_differ_in_similarity() {
    let (service, _) = made(Size { seed: 1, members: 1, posts: 600, days: 1 });
    for (search, similar) in [("telescope", "observatory"), ("violin", "cello"), ("장학금", "수강신청")]
    {
        let found = service.call(&Caller::Guest, words::FindSimilar { search: search.into() }).unwrap();
        let words = &found.similarity_word[0].words;
        assert!(words.iter().any(|word| &*word.word == similar), "{search}: {words:?}");
        let [first, last] = [words.first(), words.last()].map(|word| word.unwrap().similarity);
        assert!(first - last > 0.03, "{search}: {words:?}");
    }
}

#[test]
fn the_keen_member_has_viewed_and_liked_posts_at_any_time() {
    for hours in (0..200).step_by(37) {
        let service = service_at(NOW + hours * 60 * 60 * 1000, Config::default());
        let demo = make(&service, &Caller::Operator, SMALL, &mut to_the_end).unwrap();
        let lists = lists(&service, &demo.keen);
        for list in ["fav_list", "view_list"] {
            assert!(!lists[list].as_array().unwrap().is_empty(), "{list} {hours}");
        }
    }
}

#[test]
fn the_data_depends_on_seed_and_time_only() {
    let shown = |seed| {
        let (service, demo) = made(Size { seed, ..SMALL });
        let days = service.call(&Caller::Operator, analysis::GetDaysAgo { days: 10 }).unwrap().fields();
        let popular = feed(&newsfeed::popular(&service, &Page::default()).unwrap());
        let figures = value(service.call(&Caller::Guest, analysis::GetSummary {}).unwrap().fields());
        [value((demo.acts, demo.keen)), figures, value(days), popular]
    };
    let first = shown(1);
    for (again, first) in shown(1).iter().zip(&first) {
        assert!(again == first, "{}", again.to_string().chars().take(200).collect::<String>());
    }
    assert_ne!(shown(2)[0], first[0]);
}

#[test]
fn a_used_database_and_an_invalid_size_are_refused_and_administrators_remain() {
    let service = testing::service();
    let admin = service.admin("ann");
    let sizes = [(0, 1, 1), (1, 0, 1), (1, 1, 0), (10_001, 1, 1), (1, 100_001, 1), (1, 1, 367)];
    for (members, posts, days) in sizes {
        let refused = make(&service, &admin, Size { seed: 1, members, posts, days }, &mut to_the_end);
        assert!(matches!(refused, Err(Error::BadRequest(RULE))), "{members} {posts} {days}");
    }
    let one = Size { seed: 1, members: 1, posts: 1, days: 1 };
    let demo = make(&service, &admin, one, &mut to_the_end).unwrap();
    assert_eq!((demo.members, demo.posts), (1, 1));
    assert!(matches!(make(&service, &admin, one, &mut to_the_end), Err(Error::BadRequest(IN_USE))));

    let service = testing::service();
    let ann = service.member("ann");
    assert!(matches!(make(&service, &ann, one, &mut to_the_end), Err(Error::Forbidden)));
    let refused = make(&service, &Caller::Operator, one, &mut to_the_end);
    assert!(matches!(refused, Err(Error::BadRequest(IN_USE))));
    assert_eq!(service.number("SELECT count(*) FROM post"), 0);
}

#[test]
fn cancelling_keeps_the_finished_days() {
    let service = testing::service();
    let demo = make(&service, &Caller::Operator, SMALL, &mut |done| {
        if done < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let figures = figures(&service);
    assert!(demo.unwrap().acts > 0);
    assert_eq!(service.number("SELECT count(DISTINCT day) FROM day_count WHERE counter = 1"), 3);
    assert_eq!(figures.total_view, service.number("SELECT sum(view) FROM post_stats"));
}
