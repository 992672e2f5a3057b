use super::is_declared;

#[test]
fn only_declared_crawlers_are_recognised() {
    for crawler in [
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "mozilla/5.0 (compatible; BINGBOT/2.0; +http://www.bing.com/bingbot.htm)",
        "Mozilla/5.0 (compatible; Yeti/1.1; +https://naver.me/spd)",
        "Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)",
        "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)",
        "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Claude-SearchBot/1.0; +https://www.anthropic.com)",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/124.0.0.0 Safari/537.36",
        "Miniflux/2.2 (+https://miniflux.app)",
        "Better Uptime Bot Mozilla/5.0 (Macintosh) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/74.0 Safari/537.36",
        "WhatsApp/2.23.20.0 A",
        "Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.19041.4291",
        "Apache-HttpClient/4.5.14 (Java/17.0.9)",
    ] {
        assert!(is_declared(crawler.as_bytes()), "{crawler}");
    }
    let short = "|-|tidings-access/0.1.0|curl/8.5.0|Wget|python-requests/2.31.0|Go-http-client/2.0|node|Ruby|\
        kube-probe/1.30|Consul Health Check|Prometheus/2.53.0|Zabbix";
    for crawler in short.split('|') {
        assert!(is_declared(crawler.as_bytes()), "{crawler}");
    }
    for visitor in [
        "okhttp/4.12.0",
        "Dart/3.4 (dart:io)",
        "Ktor client",
        "Dalvik/2.1.0 (Linux; U; Android 14; SM-S921B Build/UP1A.231005.007)",
        "Java House/3.2 CFNetwork/1568.100.1 Darwin/24.0.0",
        "Go Travel/5 CFNetwork/1568.100.1 Darwin/24.0.0",
        "캠퍼스/1",
        "Campus/7 CFNetwork/1568.100.1 Darwin/24.0.0",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0",
        "Mozilla/5.0 (Linux; Android 13; CUBOT_X70) AppleWebKit/537.36",
        "Mozilla/5.0 (Linux; Android 7.0; CUBOT Build/NRD90M) AppleWebKit/537.36",
        "Mozilla/5.0 (Linux; Android 11; Cubot P50) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0",
        "Mozilla/5.0 (Linux; Android 4.1.1; HTC Butterfly Build/JRO03C) AppleWebKit/535.19 Chrome/18.0 Mobile",
        "Opera/9.80 (Linux i686; HbbTV/1.1.1 (+PVR; Loewe; SL121; LOH/3.10;;) CE-HTML/1.0) Presto/2.6.33",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) DaumApps/8.0 DaumDevice/mobile",
        "MyGooglebotTester/1.0",
    ] {
        assert!(!is_declared(visitor.as_bytes()), "{visitor}");
    }
    assert!(!is_declared(b"\xff\xfe"));
}

fn recognised(list: &str) -> f64 {
    let (mut all, mut found) = (0.0, 0.0);
    for line in list.lines() {
        all += 1.0;
        found += f64::from(u8::from(is_declared(line.as_bytes())));
    }
    found / all
}

#[test]
fn most_public_crawlers_and_almost_no_browsers_are_recognised() {
    let crawlers = recognised(include_str!("../../../../tests/data/crawlers.txt"));
    assert!(crawlers > 0.9, "{crawlers} of the crawlers are recognised");
    let browsers = recognised(include_str!("../../../../tests/data/browsers.txt"));
    assert!(browsers <= 0.001, "{browsers} of the browsers are taken for crawlers");
}
