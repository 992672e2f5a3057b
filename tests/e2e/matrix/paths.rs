//! Calls every operation with unusual values for each parameter of its path.

use tidings_tests::OPERATIONS;

use super::{Fixture, Table, outcome};

#[test]
fn every_parameter_gets_its_documented_answer_and_nothing_breaks() {
    let overlong = "a".repeat(8_000);
    let strange = [
        ("NUL", "%00"),
        ("a slash", "a%2Fb"),
        ("dots", "%2E%2E"),
        ("a percent sign", "%25"),
        ("no escape", "%zz"),
        ("invalid UTF-8", "%FF"),
        ("half a character", "%ED%95"),
        ("Hangul", "%ED%95%9C%EA%B8%80"),
        ("emoji", "%F0%9F%A6%80"),
        ("blank", "%20"),
        ("control", "%1B%5B1m%0D%0A"),
        ("quotes", "'%22%3B--"),
        ("an id of nothing", "0123456789abcdef01234567"),
        ("overlong", &overlong),
        ("-1", "-1"),
        ("0", "0"),
        ("301", "301"),
        ("1.5", "1.5"),
        ("+1", "+1"),
        ("overflow", "99999999999999999999"),
        ("underflow", "-99999999999999999999"),
    ];
    let fixture = Fixture::new();
    let caller = fixture.administrator();
    let mut table = Table::default();
    for operation in OPERATIONS.iter() {
        for parameter in operation.parameters() {
            let mut answers = Vec::new();
            for (case, value) in strange {
                let path = operation
                    .path_with(|name| if name == parameter { value.into() } else { fixture.value(name) });
                let mut request = caller.request(operation.method, &path);
                if let Some(body) = operation.body_with(fixture.number()) {
                    request = request.json(&body);
                }
                answers.push((case.to_owned(), outcome(operation, case, &request.send())));
            }
            table.add(&format!("{}, {parameter}", operation.name()), answers);
        }
    }
    table.compare("paths");
    fixture.check();
}
