//! `tidings webhook`: other systems that are told about notices and feedback.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use tidings_core::webhook::{self, Add, Event, ListDeliveries, Remove, Retry, Rotate, Test};

use crate::complete::{Kind, ids};
use crate::failure::Failure;
use crate::output::{Column, Table, dated, local};
use crate::session::{Session, unknown};

#[derive(Debug, Subcommand)]
pub(crate) enum Webhook {
    /// Add a webhook and print its secret; it is not shown again
    #[command(after_help = "Example: tidings webhook add chat https://chat.example.org/hooks/news")]
    Add {
        /// What the webhook is for, 1 to 50 characters; no two webhooks have the same name
        name: String,
        /// The address of the receiver, which begins with https://
        url: String,
        /// What it is told about: notice.published, feedback.created or both, separated by commas [default: both]
        #[arg(long, value_name = "EVENT", value_delimiter = ',', value_parser = event)]
        events: Vec<Event>,
    },
    /// List the webhooks by name
    #[command(after_help = "Example: tidings webhook list")]
    List,
    /// Remove a webhook and what it has not been told yet
    #[command(after_help = "Example: tidings webhook remove chat")]
    Remove(Named),
    /// Print a new secret for a webhook; the one before also signs for 24 hours
    #[command(after_help = "Example: tidings webhook rotate chat")]
    Rotate(Named),
    /// Queue a delivery of the event ping, which the running server sends
    #[command(after_help = "Example: tidings webhook test chat")]
    Test(Named),
    /// List the deliveries that wait or were given up, latest first
    #[command(after_help = "Example: tidings webhook deliveries")]
    Deliveries,
    /// Send a delivery again that waits or was given up
    #[command(after_help = "Example: tidings webhook retry 6560c1a2ffeeddccbbaa0001")]
    Retry {
        /// The id of the delivery
        #[arg(add = ids(Kind::Delivery))]
        delivery: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The name of the webhook, or its id
    #[arg(add = ids(Kind::Webhook))]
    webhook: String,
}

fn event(text: &str) -> Result<Event, String> {
    text.trim().parse().map_err(|_| webhook::EVENT_RULE.message().into_owned())
}

pub(crate) fn run(session: &Session, command: &Webhook) -> Result<ExitCode, Failure> {
    const KEEP: &str = "Keep the secret in a safe place: it is not shown again.";
    let Session { service, out } = session;
    let no_hook = |error, webhook| unknown(error, "webhook", webhook);
    match command {
        Webhook::Add { name, url, events } => {
            let events = if events.is_empty() { Event::ALL } else { events };
            let events = events.iter().map(ToString::to_string).collect();
            let new = service.call(Add { name: name.clone(), url: url.clone(), events })?;
            out.answer(&new, |page| {
                page.line(new.secret.as_str());
                page.note(KEEP);
            })
        }
        Webhook::List => list(session),
        Webhook::Remove(Named { webhook }) => {
            let removed = service.call(Remove { webhook_obi: webhook.clone() });
            removed.map_err(|error| no_hook(error, webhook))?;
            out.answer(&(), |page| page.line(format!("The webhook {webhook} is removed.")))
        }
        Webhook::Rotate(Named { webhook }) => {
            let new = service.call(Rotate { webhook_obi: webhook.clone() });
            let new = new.map_err(|error| no_hook(error, webhook))?;
            out.answer(&new, |page| {
                page.line(new.secret.as_str());
                page.note(KEEP);
            })
        }
        Webhook::Test(Named { webhook }) => {
            let queued = service.call(Test { webhook_obi: webhook.clone() });
            let queued = queued.map_err(|error| no_hook(error, webhook))?;
            out.answer(&queued, |page| page.line(format!("The test {} waits to be sent.", queued.id)))
        }
        Webhook::Deliveries => deliveries(session),
        Webhook::Retry { delivery } => {
            let retried = service.call(Retry { delivery_obi: delivery.clone() });
            retried.map_err(|error| unknown(error, "delivery", delivery))?;
            out.answer(&(), |page| page.line(format!("The delivery {delivery} is sent again.")))
        }
    }
}

fn list(session: &Session) -> Result<ExitCode, Failure> {
    let hooks = session.service.call(webhook::List {})?;
    session.out.list(&hooks, &hooks.webhooks, |page| {
        let columns = [
            Column::text("Name"),
            Column::text("Address"),
            Column::text("Events").optional(),
            Column::number("Waiting"),
            Column::number("Given up"),
            Column::whole(dated("Added")).optional(),
        ];
        let mut table = Table::new(columns);
        for hook in &hooks.webhooks {
            let events: Vec<_> = hook.events.iter().map(|event| event.name()).collect();
            let (pending, dead) = (hook.pending.to_string(), hook.dead.to_string());
            table.row([
                hook.name.clone(),
                hook.url.clone(),
                events.join(", "),
                pending,
                dead,
                local(hook.date),
            ]);
        }
        page.table(&table, "There is no webhook: tidings webhook add NAME URL");
    })
}

fn deliveries(session: &Session) -> Result<ExitCode, Failure> {
    let waiting = session.service.call(ListDeliveries {})?;
    session.out.list(&waiting, &waiting.deliveries, |page| {
        let columns = [
            Column::whole("Id"),
            Column::text("Webhook"),
            Column::whole("Event"),
            Column::whole("Date").optional(),
            Column::number("Attempts"),
            Column::whole(dated("Next")),
            Column::text("Error"),
        ];
        let mut table = Table::new(columns);
        for delivery in &waiting.deliveries {
            table.row([
                delivery.id.clone(),
                delivery.webhook.clone(),
                delivery.event.clone(),
                local(delivery.date),
                delivery.attempts.to_string(),
                delivery.next_attempt.map_or_else(|| "given up".to_owned(), local),
                delivery.error.clone().unwrap_or_default(),
            ]);
        }
        page.table(&table, "No delivery waits, and none was given up.");
    })
}
