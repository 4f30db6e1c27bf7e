//! Reads a grid file and reports every mistake with its place.

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::check;
use super::super::decode::{Document, Segment};
use super::super::load::independent;
use super::super::problem::{Mistake, MistakeReport};
use super::super::scenario::FORMAT;
use super::MOST_CELLS;
use super::cell::{Cell, DEFAULT, label_of};
use super::file::{AxisEntry, GridFile, ValueEntry};
use crate::config::is_file_name;
use base::processors;
use base::text::nearest;

/// The cells of a grid file (path and text) in the order of its axes; without the default, which is always included.
pub fn read_grid(path: &str, text: &str) -> Result<Vec<Cell>, MistakeReport> {
    let mut report = MistakeReport::default();
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(faults) => {
            report.add(path, text, faults);
            return Err(report);
        }
    };
    let version = document.integer("format");
    if let Some(fault) = version.and_then(|version| check::format(version, document.span(&["format".into()]))) {
        report.add(path, text, vec![fault]);
        return Err(report);
    }
    let (file, mut faults) = document.read::<GridFile>();
    let mut reading = Reading {
        document: &document,
        faults: Vec::new(),
    };
    let cells = file.as_ref().map(|file| reading.grid(file));
    faults.extend(independent(reading.faults, &faults));
    report.add(path, text, faults);
    report.unless_empty(cells)
}

/// A value of an axis, or a cell, with its label.
type Named = (String, Cell);

struct Reading<'d, 't> {
    document: &'d Document<'t>,
    faults: Vec<Mistake>,
}

impl Reading<'_, '_> {
    fn add(&mut self, path: &[Segment<'_>], title: impl Into<String>, cure: impl Into<String>) {
        self.faults.push(Mistake::new(self.document.span(path), title, cure));
    }

    fn grid(&mut self, file: &GridFile) -> Vec<Cell> {
        if file.format != FORMAT {
            let title = match file.format {
                0 => "the format is not given".to_owned(),
                other => format!("there is no format {other}"),
            };
            self.add(&["format".into()], title, format!("write `format = {FORMAT}`"));
        }
        let axes: Vec<Vec<Named>> = (0..)
            .zip(&file.axis)
            .map(|(place, axis)| self.axis(place, axis))
            .collect();
        self.axis_names(&file.axis);
        self.exclusions(file, &axes);
        let mut cells = self.crossed(file, &axes);
        for (place, entry) in file.cell.iter().enumerate() {
            let path = ["cell".into(), place.into()];
            if let Some((label, cell)) = self.value(&path, entry) {
                if label.eq_ignore_ascii_case(DEFAULT) {
                    self.as_default(&path, entry, "a cell");
                }
                cells.push(Cell { label, ..cell });
            }
        }
        self.unique(file, &cells);
        let tried = cells.iter().any(|cell| !cell.is_default());
        if self.faults.is_empty() && !tried {
            let cure = "add `[[axis]]` with a name and values, or `[[cell]]` with what it sets";
            self.add(&[], "the grid changes nothing", cure);
        }
        if cells.len() > MOST_CELLS {
            let title = format!("{} cells are too many", cells.len());
            self.add(
                &["axis".into()],
                title,
                format!("leave values out, or use `exclude`; at most {MOST_CELLS}"),
            );
        }
        // A cell without changes is the default.
        cells.retain(|cell| !cell.is_default());
        cells
    }

    fn axis_names(&mut self, axes: &[AxisEntry]) {
        let mut seen = BTreeSet::new();
        for (place, axis) in axes.iter().enumerate() {
            if axis.name.is_empty() {
                let cure = "give it one that `exclude` can use, such as `name = \"decay\"`";
                self.add(&["axis".into(), place.into()], "an axis without a name", cure);
            } else if !seen.insert(axis.name.as_str()) {
                let title = format!("two axes are called `{}`", axis.name);
                self.add(
                    &["axis".into(), place.into(), "name".into()],
                    title,
                    "put their values into one axis, or call them differently",
                );
            }
        }
    }

    fn axis(&mut self, place: usize, axis: &AxisEntry) -> Vec<Named> {
        if axis.values.is_empty() {
            let title = format!("the axis `{}` has no values", axis.name);
            let cure = "add `values = [{ env = { NAME = \"value\" } }, …]`";
            self.add(&["axis".into(), place.into(), "values".into()], title, cure);
        }
        let mut named: Vec<Named> = Vec::new();
        for (index, entry) in axis.values.iter().enumerate() {
            let path = ["axis".into(), place.into(), "values".into(), index.into()];
            let Some((label, cell)) = self.value(&path, entry) else {
                continue;
            };
            if label.eq_ignore_ascii_case(DEFAULT) && !cell.is_default() {
                self.as_default(&path, entry, "a value that changes something");
            }
            if named.iter().any(|(known, _)| known.eq_ignore_ascii_case(&label)) {
                let title = format!("two values of the axis `{}` are called `{label}`", axis.name);
                self.add(&path, title, "give one a `label` of its own");
            }
            named.push((label, cell));
        }
        named
    }

    /// Reserves the default's label for the unchanged server, in tables and file names.
    fn as_default(&mut self, path: &[Segment<'_>], entry: &ValueEntry, what: &str) {
        let label: &[Segment<'_>] = if entry.label.is_some() { &["label".into()] } else { &[] };
        self.add(
            &[path, label].concat(),
            format!("{what} cannot be called `{DEFAULT}`"),
            "that is the unchanged server, which is always tried; use another `label`",
        );
    }

    /// The settings of an entry with its label; `None` if it has neither a label nor settings.
    fn value(&mut self, path: &[Segment<'_>], entry: &ValueEntry) -> Option<Named> {
        let inside = |key: &'static str| [path, &[key.into()]].concat();
        for name in entry.env.keys() {
            if name.is_empty() || name.contains(['=', '\0', ' ']) {
                let title = format!("`{name}` is not the name of a variable");
                self.add(&inside("env"), title, "write `env = { NAME = \"value\" }`");
            }
        }
        for (key, value) in [("settings", &entry.settings), ("init-options", &entry.init_options)] {
            if value.as_ref().is_some_and(|value| !value.is_object()) {
                let title = format!("`{key}` must be a table");
                self.add(&inside(key), title, "write such as `{ lru = { capacity = 64 } }`");
            }
        }
        let mut cpus = Vec::new();
        if let Some(text) = &entry.cpus {
            match processors::list(text) {
                Some(list) => cpus = list,
                None => self.add(
                    &inside("cpus"),
                    format!("`{text}` names no processors"),
                    processors::CURE,
                ),
            }
        }
        let label = match &entry.label {
            Some(label) if !is_file_name(label) => {
                let title = format!("`{label}` cannot be a label");
                let cure = "it names files, so use up to 64 letters, digits, `-`, `_` and `.`, and begin with a \
                            letter or digit";
                self.add(&inside("label"), title, cure);
                return None;
            }
            Some(label) => label.clone(),
            None => label_of(entry),
        };
        if label.is_empty() {
            let cure = "say what it sets, or add a `label` if it stands for the unchanged server";
            self.add(path, "a value that sets nothing has no label", cure);
            return None;
        }
        let cell = Cell {
            label: label.clone(),
            preload: entry.preload.clone(),
            env: entry.env.clone(),
            args: entry.args.clone(),
            settings: entry.settings.clone(),
            init_options: entry.init_options.clone(),
            cpus,
        };
        Some((label, cell))
    }

    /// Every combination of axis values, except excluded ones.
    fn crossed(&mut self, file: &GridFile, axes: &[Vec<Named>]) -> Vec<Cell> {
        if axes.is_empty() || axes.iter().map(Vec::len).product::<usize>() > 100 * MOST_CELLS {
            let many = !axes.is_empty();
            if many {
                self.add(
                    &["axis".into()],
                    "the axes make too many cells",
                    "leave axes or values out",
                );
            }
            return Vec::new();
        }
        let mut cells = vec![(Vec::<&str>::new(), Cell::default())];
        for (place, axis) in axes.iter().enumerate() {
            let mut next = Vec::new();
            for (chosen, cell) in &cells {
                for (label, value) in axis {
                    match cell.combined_with(value) {
                        Ok(both) => next.push(([&chosen[..], &[label.as_str()]].concat(), both)),
                        Err(conflict) => {
                            self.clash(place, &file.axis[place].name, &conflict.0);
                            return Vec::new();
                        }
                    }
                }
            }
            cells = next;
        }
        let excluded = |chosen: &[&str]| {
            file.exclude.iter().any(|rule| {
                let matches = |(name, label): (&String, &String)| {
                    let place = file.axis.iter().position(|axis| axis.name == *name);
                    place.is_some_and(|place| chosen.get(place) == Some(&label.as_str()))
                };
                !rule.is_empty() && rule.iter().all(matches)
            })
        };
        cells.retain(|(chosen, _)| !excluded(chosen));
        cells.into_iter().map(|(_, cell)| cell).collect()
    }

    fn clash(&mut self, place: usize, name: &str, what: &str) {
        let title = format!("the axis `{name}` sets {what}, and so does one before it");
        let cure = "set it on one axis only, or write the combinations as `[[cell]]`";
        self.add(&["axis".into(), place.into()], title, cure);
    }

    fn exclusions(&mut self, file: &GridFile, axes: &[Vec<Named>]) {
        for (place, rule) in file.exclude.iter().enumerate() {
            for (name, label) in rule {
                let path = ["exclude".into(), place.into(), name.as_str().into()];
                let Some(axis) = file.axis.iter().position(|axis| axis.name == *name) else {
                    let names = || file.axis.iter().map(|axis| axis.name.as_str());
                    let title = format!("there is no axis `{name}`");
                    self.add(&path, title, near(name, names()));
                    continue;
                };
                let labels = || axes[axis].iter().map(|(label, _)| label.as_str());
                if !labels().any(|known| known == label) {
                    let title = format!("the axis `{name}` has no value `{label}`");
                    self.add(&path, title, near(label, labels()));
                }
            }
        }
    }

    fn unique(&mut self, file: &GridFile, cells: &[Cell]) {
        let crossed = cells.len() - cells.len().min(file.cell.len());
        for (place, cell) in cells.iter().enumerate().skip(crossed) {
            let same = |other: &&Cell| other.label.eq_ignore_ascii_case(&cell.label);
            if cells[..place].iter().any(|other| same(&other)) {
                let span: Range<usize> = self.document.span(&["cell".into(), (place - crossed).into()]);
                let title = format!("two cells are called `{}`", cell.label);
                self.faults
                    .push(Mistake::new(span, title, "give one a `label` of its own"));
            }
        }
    }
}

/// `did you mean …?`, or else the known names.
fn near<'n>(word: &str, known: impl Iterator<Item = &'n str> + Clone) -> String {
    match (nearest(word, known.clone()), known.collect::<Vec<_>>().join(", ")) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, none) if none.is_empty() => "there is none to exclude from".to_owned(),
        (None, all) => format!("there are {all}"),
    }
}
