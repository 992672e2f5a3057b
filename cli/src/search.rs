//! `tidings search`: what is found, and what is like it.

use std::process::ExitCode;

use tidings_core::{Tidings, analysis, words};

use crate::args::{Global, Search};
use crate::output::{self, Failure};

pub(crate) fn run(tidings: &Tidings, global: &Global, command: &Search) -> Result<ExitCode, Failure> {
    match command {
        Search::Similar { text } => similar(tidings, global, text),
        Search::Realtime => realtime(tidings, global),
    }
}

fn similar(tidings: &Tidings, global: &Global, text: &str) -> Result<ExitCode, Failure> {
    let answer = words::similar(tidings, text)?;
    let lines: Vec<String> = answer.similarity_word.iter().map(line).collect();
    if !global.json && answer.similarity_word.iter().all(|token| token.words.is_empty()) {
        eprintln!("No words are like these. If none were learned yet: tidings words train");
    }
    Ok(output::success(global.json, &answer, &lines.join("\n")))
}

fn line(token: &words::TokenWords) -> String {
    let words = token.words.iter().map(|similar| format!("{} {:.2}", similar.word, similar.similarity));
    format!("{}: {}", token.token, words.collect::<Vec<_>>().join(", "))
}

fn realtime(tidings: &Tidings, global: &Global) -> Result<ExitCode, Failure> {
    let realtime = analysis::realtime(tidings)?;
    let lines = realtime.search_realtime.iter().map(|(term, count)| format!("{count}  {term}"));
    let text = lines.collect::<Vec<_>>().join("\n");
    Ok(output::success(global.json, &realtime, &text))
}
