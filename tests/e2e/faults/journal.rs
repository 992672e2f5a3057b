//! Reconstructs what a disk may hold after a power cut, from a journal of all writes to it.
//!
//! A disk keeps synced data. It may hold all, none or any of the 512-byte sectors of later writes, in any order. A
//! directory may hold the names of its last sync or of any later moment.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs;
use std::path::Path;
use std::rc::Rc;

use tidings_vectors::Random;

const SECTOR: usize = 512;

#[derive(Clone, Debug)]
pub(super) enum Record {
    New {
        inode: u64,
    },
    Write {
        inode: u64,
        offset: usize,
        data: Rc<[u8]>,
    },
    Truncate {
        inode: u64,
        length: usize,
    },
    SyncBegin {
        inode: u64,
        number: u64,
    },
    SyncEnd {
        number: u64,
    },
    Names(Vec<(String, u64)>),
    NamesSyncBegin {
        number: u64,
    },
    NamesSyncEnd {
        number: u64,
    },
    /// The beginning of the data that was sent to the client at this port, or to standard output if the port is 0.
    Answer {
        port: u16,
        text: String,
    },
}

/// Reads a journal. The record numbers are defined in `shim.c`.
pub(super) fn read(journal: &Path) -> Vec<Record> {
    let bytes = fs::read(journal).unwrap();
    let mut rest = bytes.as_slice();
    let mut records = Vec::new();
    while let Some((head, behind)) = rest.split_at_checked(24) {
        let small = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
        let number = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap());
        let (kind, length, a, b) = (small(0), small(4) as usize, number(8), number(16));
        // A killed process may leave an incomplete last record.
        let Some((data, behind)) = behind.split_at_checked(length) else { break };
        let size = || usize::try_from(b).unwrap();
        records.push(match kind {
            1 => Record::New { inode: a },
            2 => Record::Write { inode: a, offset: size(), data: data.into() },
            3 => Record::Truncate { inode: a, length: size() },
            4 => Record::SyncBegin { inode: a, number: b },
            5 => Record::SyncEnd { number: b },
            6 => Record::Names(names(data)),
            7 => Record::NamesSyncBegin { number: b },
            8 => Record::NamesSyncEnd { number: b },
            9 => Record::Answer {
                port: a.try_into().unwrap(),
                text: String::from_utf8_lossy(data).into_owned(),
            },
            other => panic!("a record of kind {other}"),
        });
        rest = behind;
    }
    records
}

fn names(mut data: &[u8]) -> Vec<(String, u64)> {
    let mut names = Vec::new();
    while let Some((inode, rest)) = data.split_at_checked(8) {
        let end = rest.iter().position(|byte| *byte == 0).unwrap();
        let name = String::from_utf8(rest[..end].to_vec()).unwrap();
        names.push((name, u64::from_ne_bytes(inode.try_into().unwrap())));
        data = &rest[end + 1..];
    }
    names
}

/// Which part of the unsynced data a disk holds after a power cut.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unsynced {
    Lost,
    Kept,
    /// A random part, with this seed.
    Partly(u64),
}

pub(super) struct Disk {
    files: Vec<FileOnDisk>,
    /// The current file of each inode number; the system reuses numbers of removed files.
    by_inode: HashMap<u64, usize>,
    /// The names at the last sync of the directory, and after each later change; never empty.
    names: VecDeque<Rc<Names>>,
    /// The number of name changes before the first entry of `names`.
    names_before: usize,
    /// The syncs in progress: the number of changes when each of them began.
    syncs: HashMap<u64, (usize, usize)>,
}

type Names = Vec<(String, usize)>;

/// A file: its synced content and its later changes.
#[derive(Default)]
struct FileOnDisk {
    synced: Vec<u8>,
    changes: VecDeque<Change>,
    /// The number of changes before the first entry of `changes`.
    before: usize,
}

#[derive(Clone)]
enum Change {
    Write { offset: usize, data: Rc<[u8]> },
    Truncate(usize),
}

/// The files in the directory after a power cut: each one's content, and whether it includes all writes.
pub(super) type Image = BTreeMap<String, (Vec<u8>, bool)>;

impl Disk {
    /// Creates a disk with an empty directory.
    pub(super) fn new() -> Self {
        Self {
            files: Vec::new(),
            by_inode: HashMap::new(),
            names: [Rc::default()].into(),
            names_before: 0,
            syncs: HashMap::new(),
        }
    }

    pub(super) fn apply(&mut self, record: &Record) {
        match record {
            Record::New { inode } => {
                self.by_inode.insert(*inode, self.files.len());
                self.files.push(FileOnDisk::default());
            }
            Record::Write { inode, offset, data } => {
                self.change(*inode, Change::Write { offset: *offset, data: Rc::clone(data) });
            }
            Record::Truncate { inode, length } => self.change(*inode, Change::Truncate(*length)),
            Record::SyncBegin { inode, number } => {
                let file = self.by_inode[inode];
                self.syncs.insert(*number, (file, self.files[file].before + self.files[file].changes.len()));
            }
            Record::SyncEnd { number } => {
                let (file, changes) = self.syncs.remove(number).unwrap();
                self.files[file].sync(changes);
            }
            Record::Names(names) => {
                // Other files, such as the -shm file, are recreated by the program.
                let names = names.iter().filter(|(name, _)| !name.ends_with("-shm"));
                let known =
                    names.filter_map(|(name, inode)| Some((name.clone(), *self.by_inode.get(inode)?)));
                self.names.push_back(Rc::new(known.collect()));
            }
            Record::NamesSyncBegin { number } => {
                self.syncs.insert(*number, (0, self.names_before + self.names.len()));
            }
            Record::NamesSyncEnd { number } => {
                let (_, changes) = self.syncs.remove(number).unwrap();
                // Earlier names, except the last ones, can no longer appear.
                while self.names_before + 1 < changes {
                    self.names.pop_front();
                    self.names_before += 1;
                }
            }
            Record::Answer { .. } => {}
        }
    }

    fn change(&mut self, inode: u64, change: Change) {
        let file = self.by_inode[&inode];
        self.files[file].changes.push_back(change);
    }

    pub(super) fn after_a_power_cut(&self, unsynced: Unsynced) -> Image {
        let mut random = Random::new(if let Unsynced::Partly(seed) = unsynced { seed } else { 0 });
        let names = match unsynced {
            Unsynced::Lost => &self.names[0],
            Unsynced::Kept => &self.names[self.names.len() - 1],
            Unsynced::Partly(_) => &self.names[random.below(self.names.len())],
        };
        let files = names.iter();
        let image = files.map(|(name, file)| {
            let file = &self.files[*file];
            let held = file.held(unsynced, &mut random);
            let is_whole = held == file.held(Unsynced::Kept, &mut random);
            (name.clone(), (held, is_whole))
        });
        image.collect()
    }
}

impl FileOnDisk {
    fn sync(&mut self, changes: usize) {
        while self.before < changes {
            let change = self.changes.pop_front().unwrap();
            change.apply(&mut self.synced, |_| true);
            self.before += 1;
        }
    }

    fn held(&self, unsynced: Unsynced, random: &mut Random) -> Vec<u8> {
        let mut held = self.synced.clone();
        if !matches!(unsynced, Unsynced::Lost) {
            // Some disks lose much, others little.
            let of_four = 1 + random.below(3);
            for change in &self.changes {
                change.apply(&mut held, |_| matches!(unsynced, Unsynced::Kept) || random.below(4) < of_four);
            }
        }
        held
    }
}

impl Change {
    /// Applies a change to the content, in the sectors that `takes` selects.
    fn apply(&self, content: &mut Vec<u8>, mut takes: impl FnMut(usize) -> bool) {
        match self {
            Self::Truncate(length) => {
                if takes(0) {
                    content.resize(*length, 0);
                }
            }
            Self::Write { offset, data } => {
                let end = offset + data.len();
                let mut at = *offset;
                while at < end {
                    let sector_end = ((at / SECTOR + 1) * SECTOR).min(end);
                    if takes(at) {
                        if content.len() < sector_end {
                            content.resize(sector_end, 0);
                        }
                        content[at..sector_end].copy_from_slice(&data[at - offset..sector_end - offset]);
                    }
                    at = sector_end;
                }
            }
        }
    }
}
