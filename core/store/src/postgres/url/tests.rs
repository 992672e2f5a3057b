//! Tests of parsing URLs.

use super::*;
use crate::location::Location;

fn environment() -> Environment {
    Environment { user: Some("osuser".to_owned()), ..Environment::default() }
}

fn parsed(url: &str) -> Result<Target, String> {
    let Location::Postgres(url) = Location::from(url) else { panic!("{url} is a path") };
    parse(&url, environment())
}

fn target(url: &str) -> Target {
    parsed(url).unwrap_or_else(|fault| panic!("{url}: {fault}"))
}

fn fault(url: &str) -> String {
    parsed(url).err().unwrap_or_else(|| panic!("{url} is accepted"))
}

fn hosts(url: &str) -> String {
    target(url).hosts.iter().map(Host::to_string).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_url_names_the_user_the_hosts_and_the_database() {
    let plain = target("postgresql://ann:p%40ss%3Aw%2F@db.example.org:6432/my%20campus");
    assert_eq!((&*plain.user, plain.password.as_deref()), ("ann", Some("p@ss:w/")));
    assert_eq!(plain.database, "my campus");
    assert_eq!(plain.hosts, [Host { name: "db.example.org".into(), address: None, port: 6432 }]);
    let least = target("postgres:///campus");
    assert_eq!((&*least.user, least.password), ("osuser", None));
    assert!(least.hosts[0].is_socket() || cfg!(not(unix)));
    let parameters = target("postgres://?user=u&password=p:w&dbname=d&host=h&port=1");
    assert_eq!((&*parameters.user, parameters.password.as_deref()), ("u", Some("p:w")));
    assert_eq!((&*parameters.database, parameters.hosts[0].port), ("d", 1));
    assert_eq!(target("postgres://u:p:w@h/d").password.as_deref(), Some("p:w"));
    assert_eq!(target("postgres://u:@h/d").password, None);
}

#[test]
fn there_may_be_several_hosts_addresses_and_sockets() {
    assert_eq!(hosts("postgres://a,b:1,[::1]:2,[::2]/d"), "a:5432 b:1 [::1]:2 [::2]:5432");
    assert_eq!(hosts("postgres://%2Frun%2Fpostgresql:5433/d"), "/run/postgresql/.s.PGSQL.5433");
    assert_eq!(hosts("postgres:///d?host=/run/postgresql"), "/run/postgresql/.s.PGSQL.5432");
    assert_eq!(hosts("postgres:///d?host=a,b&port=1,2"), "a:1 b:2");
    assert_eq!(hosts("postgres:///d?host=a,b&port=1"), "a:1 b:1");
    assert_eq!(hosts("postgres:///d?hostaddr=10.0.0.1,::1"), "10.0.0.1:5432 [::1]:5432");
    let both = target("postgres://a,b/d?hostaddr=10.0.0.1,");
    let addresses: Vec<_> = both.hosts.iter().map(|host| host.address).collect();
    assert_eq!(addresses, ["10.0.0.1".parse().ok(), None]);
}

#[test]
fn parameters_have_their_defaults() {
    let plain = target("postgres://h/d");
    assert_eq!(plain.tls, Tls::Preferred);
    assert!(!plain.any_server);
    assert_eq!(plain.connect_timeout, Duration::from_secs(5));
    assert_eq!(plain.application_name, "tidings");
    assert!(plain.keepalives.is_some());
    let given = target(
        "postgres://h/d?target_session_attrs=any&connect_timeout=7&tcp_user_timeout=1500&keepalives=0\
         &application_name=a%20b&options=-c%20search_path%3Dx&channel_binding=require",
    );
    assert!(given.any_server && given.keepalives.is_none());
    assert_eq!(given.connect_timeout, Duration::from_secs(7));
    assert_eq!(given.tcp_user_timeout, Duration::from_millis(1_500));
    assert_eq!((&*given.application_name, given.options.as_deref()), ("a b", Some("-c search_path=x")));
    assert_eq!(given.channel_binding, ChannelBinding::Require);
    let idle =
        target("postgres://h/d?keepalives_idle=60&keepalives_interval=10&keepalives_count=2").keepalives;
    let seconds = Duration::from_secs;
    assert_eq!(idle, Some(Keepalives { idle: seconds(60), interval: seconds(10), count: 2 }));
}

#[test]
fn the_modes_of_tls_are_those_of_libpq() {
    let of = |query: &str| target(&format!("postgres://h/d?{query}")).tls;
    assert_eq!(of("sslmode=disable"), Tls::Off);
    assert_eq!(of("sslmode=prefer"), Tls::Preferred);
    assert_eq!(of("sslmode=require"), Tls::Required);
    assert_eq!(of("sslmode=verify-full"), Tls::Full(Roots::Public));
    assert_eq!(of("sslmode=verify-full&sslrootcert=system"), Tls::Full(Roots::Public));
    assert_eq!(of("sslmode=verify-ca&sslrootcert=/a.pem"), Tls::Authority(Roots::File("/a.pem".into())));
    assert_eq!(of("sslrootcert=/a.pem&sslmode=require"), Tls::Authority(Roots::File("/a.pem".into())));
}

#[test]
fn the_password_in_the_url_precedes_the_one_in_the_environment() {
    let of = |url: &str| {
        let Location::Postgres(url) = Location::from(url) else { panic!("a path") };
        let password = Some("environment".to_owned());
        parse(&url, Environment { password, ..environment() }).ok().unwrap().password.unwrap()
    };
    assert_eq!(of("postgres://u:url@h/d"), "url");
    assert_eq!(of("postgres://u@h/d"), "environment");
}

#[test]
fn a_malformed_url_is_refused_with_its_wrong_part_and_without_the_password() {
    let cases = [
        ("postgres:u:Secret@h/d", "does not begin with"),
        ("POSTGRES://u:Secret@h/d", "does not begin with"),
        ("postgres://u:Secret@h:70000/d", "port"),
        ("postgres://u:Secret@h:0/d", "port"),
        ("postgres://u:Secret", "port"),
        ("postgres://u:Sec@ret@h/d", "%40"),
        ("postgres://u:Sec/ret@h/d", "%40"),
        ("postgres://u:1/Secret/d", "%2F"),
        ("postgres://u:Sec ret@h/d", "space"),
        ("postgres://u:Secret%@h/d", "the password contains a %"),
        ("postgres://u:Secret%00@h/d", "%00"),
        ("postgres://u:Secret%ff@h/d", "UTF-8"),
        ("postgres://u:Secret@h", "no database"),
        ("postgres://u:Secret@[::1/d", "bracket"),
        ("postgres://u:Secret@[::1]x/d", "bracket"),
        ("postgres://u:Secret@h/d?sslmode=always", "sslmode"),
        ("postgres://u:Secret@h/d?sslmod=require", "no parameter sslmod"),
        ("postgres://h/d?password=Sec&Secret=1", "NAME=VALUE"),
        ("postgres://h/d?password=Sec&secret=1", "NAME=VALUE"),
        ("postgres://h/d?Secret", "NAME=VALUE"),
        ("postgres://h/d?connect_timeout=soon", "connect_timeout"),
        ("postgres://h/d?connect_timeout=0", "connect_timeout"),
        ("postgres://h/d?target_session_attrs=standby", "target_session_attrs"),
        ("postgres://h/d?standby_reads=on", "was removed"),
        ("postgres://a,b/d?port=1,2,3", "ports"),
        ("postgres://a,b/d?hostaddr=10.0.0.1", "hostaddr"),
        ("postgres://a/d?hostaddr=b", "hostaddr"),
    ];
    for (url, part) in cases {
        let fault = fault(url);
        assert!(fault.contains(part), "{url}: {fault}");
        assert!(!fault.to_lowercase().contains("secret") && !fault.contains("Sec"), "{url}: {fault}");
    }
}
