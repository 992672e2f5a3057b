//! Each turn goes to the next operation, within it to the next network, and within that to the next client, whose oldest entry is
//! served. So one with a thousand entries delays one with a single entry by one turn only. A network is the longest prefix that is
//! routed on the internet, 24 bits of IPv4 or 48 of IPv6: a customer can rarely choose addresses in several.

use ipnet::IpNet;
use tidings_core::account::Client;

#[cfg(test)]
mod tests;

fn network_of(client: Client) -> IpNet {
    let address = client.address();
    IpNet::new_assert(address, if address.is_ipv4() { 24 } else { 48 }).trunc()
}

/// The methods take at most linear time in the number of entries and never block.
#[derive(Debug)]
pub(super) struct FairQueue<O, T> {
    entries: Vec<Entry<O, T>>,
    capacity: usize,
    next: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pushed<T> {
    Waiting(Ticket),
    /// The entry is in the queue and has displaced the returned one.
    Displaced(Ticket, T),
    /// The queue is full and returns the entry.
    Refused(T),
}

pub(super) type Ticket = u64;

/// An operation, a network and a client: the levels on which entries take turns.
type Line<O> = (O, IpNet, Client);

#[derive(Debug)]
struct Entry<O, T> {
    ticket: Ticket,
    line: Line<O>,
    /// For each level, when the line was last served or else began to wait. Entries of one line have the same.
    turns: [u64; 3],
    /// For each level.
    lengths: [usize; 3],
    item: T,
}

/// The number of levels in common, from the first.
fn common<O: Eq>(a: &Line<O>, b: &Line<O>) -> usize {
    match (a.0 == b.0, a.1 == b.1, a.2 == b.2) {
        (false, ..) => 0,
        (_, false, _) => 1,
        (.., false) => 2,
        _ => 3,
    }
}

impl<O: Copy + Eq, T> FairQueue<O, T> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { entries: Vec::new(), capacity, next: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// If the queue is full, the new entry displaces another: the newest entry of the client with the most entries, in the
    /// network that has the most entries of one operation. Of several networks with equally many entries, it selects one of the
    /// operation with the most entries. The new entry is refused only if it would itself be displaced, because its client,
    /// network and operation fill the queue.
    pub(super) fn push(&mut self, operation: O, client: Client, item: T) -> Pushed<T> {
        let (ticket, line) = (self.count(), (operation, network_of(client), client));
        let (mut turns, mut lengths) = ([ticket; 3], [1; 3]);
        for other in &mut self.entries {
            let levels = common(&other.line, &line);
            other.lengths[..levels].iter_mut().for_each(|length| *length += 1);
            lengths[..levels].copy_from_slice(&other.lengths[..levels]);
            turns[..levels].copy_from_slice(&other.turns[..levels]);
        }
        self.entries.push(Entry { ticket, line, turns, lengths, item });
        if self.len() <= self.capacity {
            return Pushed::Waiting(ticket);
        }
        let order = |entry: &Entry<O, T>| {
            let [of_operation, of_network, of_client] = entry.lengths;
            (of_network, of_operation, common(&entry.line, &line) >= 2, of_client, entry.ticket)
        };
        let displaced = (0..self.len()).max_by_key(|place| order(&self.entries[*place]));
        let displaced = self.take(displaced.expect("the new entry is one"));
        if displaced.ticket == ticket {
            Pushed::Refused(displaced.item)
        } else {
            Pushed::Displaced(ticket, displaced.item)
        }
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        let order = |entry: &Entry<O, T>| (entry.turns, entry.ticket);
        let place = (0..self.len()).min_by_key(|place| order(&self.entries[*place]))?;
        let (served, turn) = (self.take(place), self.count());
        for other in &mut self.entries {
            other.turns[..common(&other.line, &served.line)].fill(turn);
        }
        Some(served.item)
    }

    /// `None` if the entry has already left the queue.
    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<T> {
        let place = self.entries.iter().position(|entry| entry.ticket == ticket)?;
        Some(self.take(place).item)
    }

    fn take(&mut self, place: usize) -> Entry<O, T> {
        let entry = self.entries.swap_remove(place);
        for other in &mut self.entries {
            other.lengths[..common(&other.line, &entry.line)].iter_mut().for_each(|length| *length -= 1);
        }
        entry
    }

    fn count(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}
