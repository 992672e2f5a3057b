//! The cache of documents that many clients ask for.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use tidings_core::answer::Encoded;

const CACHED: NonZeroUsize = NonZeroUsize::new(32).expect("not zero");

/// By their addresses.
pub(crate) struct Documents(Mutex<LruCache<String, Document>>);

/// The answer from which a document was made, and the document.
type Document = (Arc<Encoded>, Arc<Encoded>);

impl Documents {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(LruCache::new(CACHED)))
    }

    pub(super) fn get(&self, address: &str, source: &Arc<Encoded>) -> Option<Arc<Encoded>> {
        let mut documents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, document) = documents.get(address)?;
        Arc::ptr_eq(of, source).then(|| Arc::clone(document))
    }

    pub(super) fn insert(&self, address: String, source: Arc<Encoded>, document: &Arc<Encoded>) {
        let mut documents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        documents.put(address, (source, Arc::clone(document)));
    }
}
