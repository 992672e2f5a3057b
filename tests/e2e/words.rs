//! Similar words: the word model is trained, loaded, stored and used by searches.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};
use tidings_tests::{Caller, Server, only_on_sqlite, wait_until};

/// The words of each subject of the made-up posts.
const SUBJECTS: [&str; 3] = [
    "cargo crate compiler borrow trait lifetime macro",
    "oven flour butter sugar kitchen dough pan",
    "도서관 학생 교수 강의 시험 수업 캠퍼스",
];

/// Returns posts as lines of an import, about the subjects in turn. The words and their order differ between posts.
fn posts(count: usize) -> String {
    let mut lines = String::new();
    for n in 0..count {
        let words: Vec<&str> = SUBJECTS[n % SUBJECTS.len()].split(' ').collect();
        let text: Vec<&str> = (0..14).map(|at| words[(n / 3 + at * (1 + n % 5)) % words.len()]).collect();
        let text = text.join(" ");
        writeln!(lines, r#"{{"title":"{text}","url":"https://words.example/{n}"}}"#).unwrap();
    }
    lines
}

/// Starts a server with 120 such posts, which does not train the word model by itself.
fn with_posts() -> Server {
    let server = Server::with(|serve| {
        serve.args(["--words-retrain-after", "0"]);
    });
    import(&server, 120);
    server
}

fn import(server: &Server, count: usize) {
    let imported = server.cli_with_input(["--json", "post", "import", "-"], posts(count)).succeeded();
    assert_eq!(imported.json()["errors"], json!([]));
}

/// Returns the answer for a search: for each token its similar words with their similarities.
fn similar(caller: &Caller, search: &str) -> Vec<(String, Vec<(String, f64)>)> {
    let answer = caller.post("/get_similarity_words", json!({ "search": search })).succeeded();
    answer.list("similarity_word").iter().map(parse_token).collect()
}

fn parse_token(token: &Value) -> (String, Vec<(String, f64)>) {
    let (token, words) = only_entry(token);
    let word = |word: &Value| {
        let (word, similarity) = only_entry(word);
        (word, similarity.as_f64().unwrap())
    };
    (token, words.as_array().unwrap().iter().map(word).collect())
}

/// Returns the only key of an object, and its value.
fn only_entry(object: &Value) -> (String, &Value) {
    let object = object.as_object().unwrap();
    assert_eq!(object.len(), 1, "{object:?}");
    let (key, value) = object.iter().next().unwrap();
    (key.clone(), value)
}

/// Returns the words that are similar to `word`, most similar first.
fn words(caller: &Caller, word: &str) -> Vec<String> {
    similar(caller, word).remove(0).1.into_iter().map(|(word, _)| word).collect()
}

fn is_about(word: &str, subject: &str) -> bool {
    subject.split(' ').any(|of| of == word)
}

#[test]
fn the_server_trains_the_word_model_by_itself() {
    let mut server = Server::start();
    let anyone = server.anyone();
    assert_eq!(similar(&anyone, "cargo"), [("cargo".to_owned(), vec![])], "there are no posts");
    import(&server, 120);
    wait_until("the word model is trained", || !words(&anyone, "cargo").is_empty());

    let found = similar(&anyone, "Cargo, the OVEN cargo, 학생 and xylophone");
    let tokens: Vec<&str> = found.iter().map(|(token, _)| token.as_str()).collect();
    assert_eq!(tokens, ["cargo", "oven", "학생", "xylophone"], "distinct, in order");
    for ((token, words), subject) in found.iter().zip(SUBJECTS) {
        assert!((3..=10).contains(&words.len()), "{token}: {words:?}");
        assert!(words.iter().all(|(word, _)| word != token && is_about(word, subject)), "{token}: {words:?}");
        assert!(words.iter().all(|(_, similarity)| (0.5..=1.0).contains(similarity)), "{words:?}");
        assert!(words.is_sorted_by(|a, b| a.1 >= b.1), "most similar first: {words:?}");
    }
    assert_eq!(found[3].1, [], "an unknown word that resembles none has no similar words");
    assert!(
        is_about(&words(&anyone, "compielr")[0], SUBJECTS[0]),
        "a misspelt word has the similar words of the right one"
    );
    let inflected = similar(&anyone, "도서관에서만");
    assert!(is_about(&inflected[0].1[0].0, SUBJECTS[2]), "{inflected:?}");

    let before = similar(&anyone, "cargo oven 학생");
    server.restart();
    assert_eq!(similar(&anyone, "cargo oven 학생"), before, "the stored model answers the first request");
}

#[test]
fn a_backup_has_the_word_model() {
    only_on_sqlite!("backups of a server have no words");
    let server = with_posts();
    let _ = server.cli(["words", "train"]).succeeded();
    let _ = server.cli(["backup", "copy.db"]).succeeded();
    let copy = Server::at(server.database().with_file_name("copy.db"), |serve| {
        serve.args(["--words-retrain-after", "0"]);
    });
    let similar = |server: &Server| server.cli(["--json", "search", "similar", "cargo"]).succeeded().json();
    assert_eq!(similar(&copy), similar(&server));
    assert!(!words(&copy.anyone(), "cargo").is_empty());
}

#[test]
fn a_running_server_loads_the_models_that_the_command_line_trains_and_reads() {
    let server = with_posts();
    let anyone = server.anyone();
    assert_eq!(words(&anyone, "cargo"), Vec::<String>::new(), "retraining is off");
    let missing = server.cli(["--json", "words", "export", "vectors.txt"]);
    assert_eq!((missing.status, &missing.json()["result"]), (1, &json!("Not found")));

    let trained = server.cli(["--json", "words", "train"]).succeeded().json();
    assert_eq!(trained["result"], "success");
    assert!(
        trained["words"].as_u64().unwrap() >= 21 && trained["seconds"].as_f64().unwrap() >= 0.0,
        "{trained}"
    );
    wait_until("the server has loaded the model", || !words(&anyone, "cargo").is_empty());

    let answer = anyone.post("/get_similarity_words", json!({ "search": "cargo oven" })).body;
    assert_eq!(server.cli(["--json", "search", "similar", "cargo oven"]).succeeded().json(), answer);

    // Vectors are exported in the text form of word2vec.
    let file = server.database().with_file_name("vectors.txt");
    let exported = server.cli(["--json", "words", "export", "vectors.txt"]).succeeded().json();
    let text = fs::read_to_string(&file).unwrap();
    let mut lines = text.lines();
    let head: Vec<usize> = lines.next().unwrap().split(' ').map(|n| n.parse().unwrap()).collect();
    let [count, dimensions] = head[..] else { panic!("{head:?}") };
    assert_eq!(json!(count), exported["words"]);
    let rows: Vec<Vec<&str>> = lines.map(|line| line.trim_end().split(' ').collect()).collect();
    assert_eq!(rows.len(), count);
    for row in &rows {
        assert_eq!(row.len(), dimensions + 1, "{row:?}");
        assert!(row[1..].iter().all(|x| x.parse::<f64>().is_ok_and(f64::is_finite)), "{row:?}");
    }

    // Loading an export gives the same model.
    let trained = words(&anyone, "cargo");
    let _ = server.cli(["words", "load", "vectors.txt"]).succeeded();
    assert_eq!(words(&anyone, "cargo"), trained);

    // Vectors of other programs, in the formats of fastText and GloVe, replace the trained ones. Answers contain only
    // words of the posts.
    let rows = "cargo 1 0 \noven 0.9 0.1 \nfreight 1 0 \nflour 0 1 \n";
    for vectors in [format!("4 2\n{rows}"), rows.replace(" \n", "\n")] {
        let loaded = server.cli_with_input(["--json", "words", "load", "-"], vectors).succeeded().json();
        assert_eq!(loaded["words"], 4);
        wait_until("the server has loaded the vectors", || words(&anyone, "cargo") == ["oven"]);
        assert_eq!(words(&anyone, "freight"), ["cargo", "oven"]);
    }
    let _ = server.cli(["words", "train"]).succeeded();
    wait_until("the server has loaded the trained model", || words(&anyone, "cargo") == trained);

    // An unreadable file changes nothing.
    let similar = || server.cli(["--json", "search", "similar", "cargo"]).succeeded().json();
    let before = similar();
    let refused = server.cli_with_input(["words", "load", "-"], "2 3\ncargo 1 0\n");
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(refused.stderr.contains("bad request"), "{refused:?}");
    assert_eq!(similar(), before);
    let missing = server.cli(["words", "load", "nowhere.vec"]);
    assert_eq!(missing.status, 3, "{missing:?}");
    assert!(missing.stderr.contains("nowhere.vec"), "{missing:?}");
}
