//! The documents that the imagined user has open, and the files still to be opened.

use std::path::Path;

use crate::lsp::position::Encoding;
use crate::lsp::{Client, Sync};

use super::document::Document;
use super::target::{self, Place, Target};
use super::workspace::SourceFile;
use super::{Job, Stop};

/// Files that are looked into when the order of opening is made; the rest follow unseen. Bounds the work before a run
/// on a workspace of a hundred thousand files.
const LOOKED_INTO: usize = 200;

/// Names that a file should have to be worth opening early.
const NAMES: usize = 20;

/// What is open, and in which order files are opened.
pub struct Desk {
    files: Vec<SourceFile>,
    order: Vec<usize>,
    next: usize,
    open: Vec<Paper>,
    seed: u64,
    /// Counts every text that is typed, so that no two are equal.
    serial: u64,
}

/// An open document and the file it came from.
pub struct Paper {
    file: usize,
    /// The document as the server has it.
    pub document: Document,
}

impl Desk {
    /// Nothing is open. The order depends on the files and the seed alone.
    pub fn new(job: &Job) -> Desk {
        let files = job.selection.files.clone();
        let seed = job.seed;
        let picked = target::pick(&files, files.len().min(LOOKED_INTO), NAMES, seed, Place::Name);
        let mut order: Vec<usize> = Vec::with_capacity(files.len());
        let rest = target::pick_files(&files, files.len(), seed);
        let mut placed = vec![false; files.len()];
        for file in picked.targets.iter().map(|target| target.file).chain(rest) {
            if !std::mem::replace(&mut placed[file], true) {
                order.push(file);
            }
        }
        Desk {
            files,
            order,
            next: 0,
            open: Vec::new(),
            seed,
            serial: 0,
        }
    }

    /// The files to open next: from the start of the order, or from where the last opening ended, around and around.
    /// Files that are open already are not opened twice.
    pub fn choose(&mut self, wanted: usize, from_start: bool) -> Vec<usize> {
        let start = if from_start { 0 } else { self.next };
        let mut chosen = Vec::new();
        for step in 0..self.order.len() {
            if chosen.len() == wanted {
                break;
            }
            let place = (start + step) % self.order.len();
            let file = self.order[place];
            if !self.open.iter().any(|paper| paper.file == file) {
                chosen.push(file);
                self.next = (place + 1) % self.order.len();
            }
        }
        chosen
    }

    /// Reads a file and puts it on the desk.
    pub fn open(&mut self, file: usize, sync: Sync, encoding: Encoding) -> Result<&Document, Stop> {
        let source = &self.files[file];
        let document = Document::open(&source.path, &source.language, sync, encoding)
            .map_err(Stop::failed(format!("read `{}`", source.path.display())))?;
        self.open.push(Paper { file, document });
        Ok(&self.open[self.open.len() - 1].document)
    }

    /// Takes the first `count` documents off the desk; all when `None`.
    pub fn close(&mut self, count: Option<usize>) -> Vec<Document> {
        let count = count.unwrap_or(self.open.len()).min(self.open.len());
        self.open.drain(..count).map(|paper| paper.document).collect()
    }

    /// How many of the open documents a step uses.
    pub fn reach(&self, files: Option<usize>) -> usize {
        files.unwrap_or(self.open.len()).min(self.open.len())
    }

    /// An open document.
    pub fn document(&self, index: usize) -> &Document {
        &self.open[index].document
    }

    /// An open document, to be edited.
    pub fn document_mut(&mut self, index: usize) -> &mut Document {
        &mut self.open[index].document
    }

    /// The file of an open document.
    pub fn path(&self, index: usize) -> &Path {
        &self.files[self.open[index].file].path
    }

    /// Places in the first `files` open documents; [`Target::file`] is the index of the document.
    pub fn targets(&self, files: Option<usize>, per_file: usize, place: Place) -> Vec<Target> {
        let open: Vec<SourceFile> = self.open[..self.reach(files)]
            .iter()
            .map(|paper| self.files[paper.file].clone())
            .collect();
        target::pick(&open, open.len(), per_file, self.seed, place).targets
    }

    /// The seed of everything that is picked.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Every file of the selection, in the order of opening.
    pub fn all(&self) -> impl Iterator<Item = &SourceFile> {
        self.order.iter().map(|file| &self.files[*file])
    }

    /// Reserves `count` serial numbers and gives the first.
    pub fn serials(&mut self, count: usize) -> u64 {
        let first = self.serial;
        self.serial += count as u64;
        first
    }

    /// Opens everything again on a new server, or forgets it.
    pub fn restarted(&mut self, client: &Client, reopen: bool) {
        if !reopen {
            self.open.clear();
        }
        for paper in &self.open {
            let item = paper.document.item();
            client.notify("textDocument/didOpen", serde_json::json!({ "textDocument": item }));
        }
    }
}
