//! A bounded queue that serves operations, networks and clients in turn.
//!
//! [`FairQueue`] holds work that waits for a thread. Each turn goes to the next operation, within it to the next network, and
//! within that to the next client, whose oldest entry is served. So one with a thousand entries is served no faster than one with
//! a single entry, and delays the other by one turn only.
//!
//! A network is the first 24 bits of an IPv4 address or the first 48 bits of an IPv6 address, the longest prefixes that are
//! routed on the internet: a customer can rarely choose addresses in several networks.

use std::collections::VecDeque;

use ipnet::IpNet;
use tidings_core::account::Client;

#[cfg(test)]
mod tests;

fn network_of(client: Client) -> IpNet {
    let address = client.address();
    IpNet::new_assert(address, if address.is_ipv4() { 24 } else { 48 }).trunc()
}

/// Operations (`O`), networks and clients take turns. The methods take at most linear time in the number of entries and never
/// block.
#[derive(Debug)]
pub(super) struct FairQueue<O, T> {
    operations: Ring<O, Ring<IpNet, Clients<T>>>,
    /// If it is lowered, entries in the queue stay.
    pub(super) capacity: usize,
    len: usize,
    next: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pushed<O, T> {
    Waiting(Ticket<O>),
    /// The entry is in the queue and has displaced the returned one.
    Displaced(Ticket<O>, T),
    /// The queue is full and returns the entry.
    Refused(T),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket<O> {
    operation: O,
    client: Client,
    number: u64,
}

#[derive(Debug)]
struct Entry<T> {
    number: u64,
    item: T,
}

/// Each client has its entries, the oldest first.
type Clients<T> = Ring<Client, VecDeque<Entry<T>>>;

/// Lines take turns, each with its key; the next to be served is first. No line is empty.
#[derive(Debug)]
struct Ring<K, Q>(VecDeque<(K, Q)>);

trait Line: Default {
    type Item;

    fn len(&self) -> usize;

    fn is_empty(&self) -> bool;

    fn pop(&mut self) -> Option<Self::Item>;
}

impl<T> Line for VecDeque<Entry<T>> {
    type Item = T;

    fn len(&self) -> usize {
        self.len()
    }

    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn pop(&mut self) -> Option<T> {
        self.pop_front().map(|entry| entry.item)
    }
}

impl<K, Q> Default for Ring<K, Q> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<K: Copy + Eq, Q: Line> Line for Ring<K, Q> {
    type Item = Q::Item;

    fn len(&self) -> usize {
        self.0.iter().map(|(_, line)| line.len()).sum()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn pop(&mut self) -> Option<Q::Item> {
        let (key, mut line) = self.0.pop_front()?;
        let item = line.pop();
        if !line.is_empty() {
            self.0.push_back((key, line));
        }
        item
    }
}

impl<K: Copy + Eq, Q: Line> Ring<K, Q> {
    fn place(&self, key: K) -> Option<usize> {
        self.0.iter().position(|(other, _)| *other == key)
    }

    /// A new line is served last.
    fn line(&mut self, key: K) -> &mut Q {
        let place = self.place(key).unwrap_or_else(|| {
            self.0.push_back((key, Q::default()));
            self.0.len() - 1
        });
        &mut self.0[place].1
    }

    /// Takes an entry out of the line at `place`, and removes the line if it is then empty.
    fn take<T>(&mut self, place: usize, take: impl FnOnce(&mut Q) -> Option<T>) -> Option<T> {
        let line = &mut self.0.get_mut(place)?.1;
        let taken = take(line);
        if line.is_empty() {
            self.0.remove(place);
        }
        taken
    }
}

impl<O: Copy + Eq, T> FairQueue<O, T> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { operations: Ring::default(), capacity, len: 0, next: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// If the queue is full, the new entry displaces another: the newest entry of the client with the most entries, in the
    /// network that has the most entries of one operation. Of several networks with equally many entries, it selects one of the
    /// operation with the most entries. The new entry is refused only if it would itself be displaced, because its client,
    /// network and operation fill the queue.
    pub(super) fn push(&mut self, operation: O, client: Client, item: T) -> Pushed<O, T> {
        if self.capacity == 0 {
            return Pushed::Refused(item);
        }
        let number = self.next;
        self.next += 1;
        let line = self.operations.line(operation).line(network_of(client)).line(client);
        line.push_back(Entry { number, item });
        self.len += 1;
        let ticket = Ticket { operation, client, number };
        if self.len <= self.capacity {
            return Pushed::Waiting(ticket);
        }
        match self.displace(&ticket) {
            Some(entry) if entry.number == number => Pushed::Refused(entry.item),
            Some(entry) => Pushed::Displaced(ticket, entry.item),
            None => Pushed::Waiting(ticket),
        }
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        let item = self.operations.pop()?;
        self.len -= 1;
        Some(item)
    }

    /// Returns `None` if the entry has already left the queue.
    pub(super) fn remove(&mut self, ticket: &Ticket<O>) -> Option<T> {
        let Ticket { operation, client, number } = *ticket;
        let network = network_of(client);
        let entry = self.operations.take(self.operations.place(operation)?, |networks| {
            networks.take(networks.place(network)?, |clients| {
                clients.take(clients.place(client)?, |entries| {
                    let place = entries.iter().position(|entry| entry.number == number)?;
                    entries.remove(place)
                })
            })
        })?;
        self.len -= 1;
        Some(entry.item)
    }

    /// Returns the entry that the entry of `ticket` displaces.
    fn displace(&mut self, ticket: &Ticket<O>) -> Option<Entry<T>> {
        let (mut most, mut gives_way) = ((0, 0, false), None);
        for (operation, (name, networks)) in self.operations.0.iter().enumerate() {
            let of_operation = networks.len();
            for (network, (address, clients)) in networks.0.iter().enumerate() {
                let is_own = (*name, *address) == (ticket.operation, network_of(ticket.client));
                let order = (clients.len(), of_operation, is_own);
                if order > most {
                    (most, gives_way) = (order, Some((operation, network)));
                }
            }
        }
        let (operation, network) = gives_way?;
        let entry = self.operations.take(operation, |networks| {
            networks.take(network, |clients| {
                // Of several clients with equally many entries, selects the one with the newest entry.
                let newest = |entries: &VecDeque<Entry<T>>| entries.back().map(|entry| entry.number);
                let lengths = clients.0.iter().map(|(_, entries)| (entries.len(), newest(entries)));
                let (place, _) = lengths.enumerate().max_by_key(|(_, order)| *order)?;
                clients.take(place, VecDeque::pop_back)
            })
        });
        self.len -= 1;
        entry
    }
}
