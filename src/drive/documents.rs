//! The open documents, and the files still to be opened.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::Path;

use lsp::Sync;
use lsp::position::Encoding;

use super::ask::Asker;
use super::document::Document;
use super::target::{self, Target, TargetKind};
use super::workspace::SourceFile;
use super::{Job, Stage, Stop};
use base::Cancel;
use base::random::Random;

/// Most files scanned to decide the order of opening; the rest follow unscanned. Bounds the work before a run on a
/// workspace of a hundred thousand files.
const LOOKED_INTO: usize = 200;

/// Fewest names in a file that is opened early.
const NAMES: usize = 20;

/// The open documents and the order in which files are opened.
#[derive(Clone)]
pub struct OpenDocuments {
    files: Vec<SourceFile>,
    order: Vec<usize>,
    next: usize,
    open: Vec<OpenDocument>,
    /// Files that are not UTF-8, or that changed so that they are unusable.
    lost: HashSet<usize>,
    seed: u64,
    /// Number of the next typed text, so that no two are equal.
    serial: u64,
    /// Lines that `touch` appended to files on disk and that are still there.
    appended: BTreeMap<usize, Vec<u8>>,
}

#[derive(Clone)]
pub struct OpenDocument {
    file: usize,
    /// The document as the server has it.
    pub document: Document,
}

impl OpenDocuments {
    /// Starts with no open document. The order depends only on files and seed, unless `stop` interrupts the scan.
    pub fn new(job: &Job, cancel: &Cancel) -> OpenDocuments {
        let files = job.selection.files.clone();
        let seed = job.seed;
        let text = |file: usize| {
            if cancel.is_cancelled() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            target::read(&files[file]).map(Cow::Owned)
        };
        let looked_into = files.len().min(LOOKED_INTO);
        let picked = target::pick(&files, text, looked_into, NAMES, seed, TargetKind::Name);
        let rest = target::pick_files(&files, files.len(), seed);
        let order = order(&picked.targets, &rest, seed);
        OpenDocuments {
            files,
            order,
            next: 0,
            open: Vec::new(),
            lost: HashSet::new(),
            seed,
            serial: 0,
            appended: BTreeMap::new(),
        }
    }

    /// The files among the first `wanted` of the order that are not open.
    pub fn first(&self, wanted: usize) -> Vec<usize> {
        let readable = self.order.iter().copied().filter(|file| !self.lost.contains(file));
        readable.take(wanted).filter(|file| !self.is_open(*file)).collect()
    }

    /// The next `wanted` files that are not open, from the end of the last opening, cyclically.
    pub fn next(&mut self, wanted: usize) -> Vec<usize> {
        let mut chosen = Vec::new();
        for _ in 0..self.order.len() {
            if chosen.len() == wanted {
                break;
            }
            let file = self.order[self.next];
            self.next = (self.next + 1) % self.order.len();
            if !self.is_open(file) && !self.lost.contains(&file) {
                chosen.push(file);
            }
        }
        chosen
    }

    fn is_open(&self, file: usize) -> bool {
        self.open.iter().any(|paper| paper.file == file)
    }

    /// Opens a file. An unreadable file is not chosen again.
    pub async fn open(&mut self, file: usize, sync: Sync, encoding: Encoding) -> io::Result<&Document> {
        let source = self.files[file].clone();
        match run_blocking(move || Document::open(&source, sync, encoding)).await {
            Ok(document) => {
                self.open.push(OpenDocument { file, document });
                Ok(&self.open[self.open.len() - 1].document)
            }
            Err(error) => {
                self.lose(file);
                Err(error)
            }
        }
    }

    /// Marks a file as unusable, so that it is not chosen again. True the first time.
    pub fn lose(&mut self, file: usize) -> bool {
        self.lost.insert(file)
    }

    /// The path of a file, relative to the workspace.
    pub fn name(&self, file: usize) -> &str {
        &self.files[file].relative
    }

    /// Closes the first `count` documents; all when `None`.
    pub fn close(&mut self, count: Option<usize>) -> Vec<Document> {
        let count = count.unwrap_or(self.open.len()).min(self.open.len());
        self.open.drain(..count).map(|paper| paper.document).collect()
    }

    /// The number of open documents that a step uses.
    pub fn reach(&self, files: Option<usize>) -> usize {
        files.unwrap_or(self.open.len()).min(self.open.len())
    }

    pub fn document(&self, index: usize) -> &Document {
        &self.open[index].document
    }

    pub fn document_mut(&mut self, index: usize) -> &mut Document {
        &mut self.open[index].document
    }

    pub fn file(&self, index: usize) -> usize {
        self.open[index].file
    }

    /// Most bytes read from a file: it may have grown since it was listed.
    pub fn most(&self, file: usize) -> u64 {
        self.files[file].most()
    }

    pub fn path(&self, file: usize) -> &Path {
        &self.files[file].path
    }

    /// The index of the open document of a file; `None` if it is not open.
    pub fn open_at(&self, path: &Path) -> Option<usize> {
        self.open.iter().position(|paper| self.files[paper.file].path == path)
    }

    /// Places in the first `files` open documents; [`Target::file`] is the index of the document.
    pub fn targets(&self, files: Option<usize>, per_file: usize, place: TargetKind) -> Vec<Target> {
        let open: Vec<SourceFile> = self.open[..self.reach(files)]
            .iter()
            .map(|paper| self.files[paper.file].clone())
            .collect();
        // The text as the server has it, even if the file has changed.
        let text = |index: usize| Ok(Cow::Borrowed(self.open[index].document.text()));
        target::pick(&open, text, open.len(), per_file, self.seed, place).targets
    }

    /// Seed of every random choice.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Every usable file of the selection, in the order of opening.
    pub fn all(&self) -> impl Iterator<Item = usize> {
        self.order.iter().copied().filter(|file| !self.lost.contains(file))
    }

    /// The line that `touch` last appended to a file; it is forgotten here.
    pub fn take_appended(&mut self, file: usize) -> Vec<u8> {
        self.appended.remove(&file).unwrap_or_default()
    }

    pub fn note_appended(&mut self, file: usize, line: Vec<u8>) {
        self.appended.insert(file, line);
    }

    /// Files that have a line of `touch` at their end.
    pub fn with_appended(&self) -> Vec<usize> {
        self.appended.keys().copied().collect()
    }

    pub fn language(&self, file: usize) -> &str {
        &self.files[file].language
    }

    /// Reserves `count` serial numbers and returns the first.
    pub fn serials(&mut self, count: usize) -> u64 {
        let first = self.serial;
        self.serial += count as u64;
        first
    }

    /// After a server restart: opens every document again, or forgets them.
    pub async fn restarted<S: Stage>(&mut self, asker: &Asker<'_, S>, reopen: bool) -> Result<(), Stop> {
        if !reopen {
            self.open.clear();
        }
        for paper in &self.open {
            asker.open(&paper.document).await?;
        }
        Ok(())
    }
}

/// Runs blocking file access on its own thread, so that an interrupt is handled meanwhile.
pub async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(io::Error::other)
        .flatten()
}

/// Every file once: files with enough names, then files with some, then the rest.
fn order(picked: &[Target], rest: &[usize], seed: u64) -> Vec<usize> {
    let mut names: BTreeMap<usize, usize> = BTreeMap::new();
    let mut seen: Vec<usize> = Vec::new();
    for target in picked {
        let count = names.entry(target.file).or_default();
        if *count == 0 {
            seen.push(target.file);
        }
        *count += 1;
    }
    let (rich, poor): (Vec<usize>, Vec<usize>) = seen.into_iter().partition(|file| names[file] >= NAMES);
    let unseen = rest.iter().copied().filter(|file| !names.contains_key(file)).collect();
    let mut random = Random::for_use(seed, "desk");
    let mut shares = [rich, poor, unseen].map(|share| spread(share, &mut random));
    shares.iter_mut().flat_map(std::mem::take).collect()
}

/// Reorders files sorted by path, so that every prefix is spread over all directories: a session that opens twenty of a
/// thousand files must not see only the first directories. Uses bit reversal of the indices.
fn spread(mut files: Vec<usize>, random: &mut Random) -> Vec<usize> {
    if files.len() < 2 {
        return files;
    }
    let turn = random.below(files.len());
    files.rotate_left(turn);
    let bits = (files.len() - 1).ilog2() + 1;
    let places = (0..1_usize << bits).map(|place| place.reverse_bits() >> (usize::BITS - bits));
    places.filter_map(|place| files.get(place).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(file: usize, names: usize) -> Vec<Target> {
        let target = Target {
            file,
            offset: 0,
            line: 0,
            name: String::new(),
        };
        vec![target; names]
    }

    #[test]
    fn every_beginning_of_the_order_is_spread_over_the_whole() {
        let picked: Vec<Target> = (0..200).flat_map(|file| named(file, NAMES)).collect();
        for seed in 0..20 {
            let order = order(&picked, &[], seed);
            for taken in [5, 10, 20, 50] {
                let mut first = order[..taken].to_vec();
                first.sort_unstable();
                let gaps = first.windows(2).map(|pair| pair[1] - pair[0]);
                let around = 200 - first[taken - 1] + first[0];
                let widest = gaps.chain([around]).max().unwrap_or(0);
                assert!(widest <= 3 * 200 / taken, "seed {seed}: {first:?}");
            }
        }
    }

    #[test]
    fn every_file_is_in_the_order_once_and_poor_ones_late() {
        let picked = [named(4, NAMES), named(1, 3), named(2, NAMES)].concat();
        let order = order(&picked, &[0, 1, 2, 3, 4], 1);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4]);
        assert!(order[..2].contains(&4) && order[..2].contains(&2), "{order:?}");
        assert_eq!(order[2], 1);
    }
}
