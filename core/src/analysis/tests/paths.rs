use super::*;
use crate::testing::service;

const TOPIC: &str = "/get_newsfeed_of_topic/{category_name}";
const DAY: Window = Window { months: 0, days: 1, hours: 0 };

fn paths(service: &Service) -> Vec<String> {
    service.settle();
    log_date(service, &Caller::Operator, DAY, 1_000).unwrap().log.into_iter().map(|line| line.path).collect()
}

#[test]
fn each_line_has_its_own_path_and_no_path_makes_the_table_of_requests_larger() {
    let service = service();
    let get = |template, path: &str| service.communicate(&Caller::Guest, 1, "GET", template, path);
    for n in 0..900 {
        get(TOPIC, &format!("/get_newsfeed_of_topic/{n}"));
    }
    get("/get_popularity_newsfeed", "/get_popularity_newsfeed");
    let shown = paths(&service);
    let topics = (0..900).rev().map(|n| format!("/get_newsfeed_of_topic/{n}"));
    let expected: Vec<_> = std::iter::once("/get_popularity_newsfeed".to_owned()).chain(topics).collect();
    assert_eq!(shown, expected);
    assert_eq!(service.number("SELECT count(*) FROM request"), 2);
    let service = service.reopened();
    service.communicate(&Caller::Guest, 1, "GET", TOPIC, "/get_newsfeed_of_topic/cats");
    assert_eq!(paths(&service)[0], "/get_newsfeed_of_topic/cats");
    assert_eq!(service.number("SELECT count(*) FROM request"), 2, "a request is found again after a restart");
}
