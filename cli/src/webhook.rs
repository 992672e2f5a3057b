use tidings_core::webhook::{self, Add, Event, ListDeliveries, Remove, Retry, Rotate, Test};

use crate::prelude::*;

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

pub(crate) fn run(session: &Session, command: &Webhook) -> Exit {
    const KEEP: &str = "Keep the secret in a safe place: it is not shown again.";
    let Session { service, out } = session;
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
        Webhook::List => {
            let hooks = service.call(webhook::List {})?;
            out.table(&hooks, &hooks.webhooks, "There is no webhook: tidings webhook add NAME URL", |table| {
                table
                    .text("Name", |hook| hook.name.clone())
                    .text("Address", |hook| hook.url.clone())
                    .optional_text("Events", |hook| {
                        hook.events.iter().map(|event| event.name()).collect::<Vec<_>>().join(", ")
                    })
                    .number("Waiting", |hook| hook.pending.to_string())
                    .number("Given up", |hook| hook.dead.to_string())
                    .optional_whole(dated("Added"), |hook| local(hook.date))
            })
        }
        Webhook::Remove(Named { webhook }) => {
            let remove = Remove { webhook_obi: webhook.clone() };
            session.change("webhook", webhook, remove, format!("The webhook {webhook} is removed."))
        }
        Webhook::Rotate(Named { webhook }) => {
            let new = session.call_on("webhook", webhook, Rotate { webhook_obi: webhook.clone() })?;
            out.answer(&new, |page| {
                page.line(new.secret.as_str());
                page.note(KEEP);
            })
        }
        Webhook::Test(Named { webhook }) => {
            let queued = session.call_on("webhook", webhook, Test { webhook_obi: webhook.clone() })?;
            out.answer(&queued, |page| page.line(format!("The test {} waits to be sent.", queued.id)))
        }
        Webhook::Deliveries => deliveries(session),
        Webhook::Retry { delivery } => {
            let retry = Retry { delivery_obi: delivery.clone() };
            session.change("delivery", delivery, retry, format!("The delivery {delivery} is sent again."))
        }
    }
}

fn deliveries(Session { service, out }: &Session) -> Exit {
    let waiting = service.call(ListDeliveries {})?;
    out.table(&waiting, &waiting.deliveries, "No delivery waits, and none was given up.", |table| {
        // The name of the zone is on this date, which is never left out.
        let next = dated("Next");
        table
            .whole("Id", |delivery| delivery.id.clone())
            .text("Webhook", |delivery| delivery.webhook.clone())
            .whole("Event", |delivery| delivery.event.clone())
            .optional_whole("Date", |delivery| local(delivery.date))
            .number("Attempts", |delivery| delivery.attempts.to_string())
            .whole(next, |delivery| delivery.next_attempt.map_or_else(|| "given up".to_owned(), local))
            .text("Error", |delivery| delivery.error.clone().unwrap_or_default())
    })
}
