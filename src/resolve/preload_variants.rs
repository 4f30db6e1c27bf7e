//! Servers, each under several preloaded allocators.

use super::spec::ServerSpec;
use record::Preload;

/// Two of a list by which one server would have one label twice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Twice {
    #[error("`--preload` names `{0}` twice: name it once")]
    Same(String),
    /// Libraries that labels tell nothing of.
    #[error(
        "`--preload` names `{first}` and `{second}`, and a server with either would be called `…{suffix}`: give one \
         its own label, --server 'other: preload={second} SERVER'"
    )]
    Label {
        first: String,
        /// The one that is called like it.
        second: String,
        suffix: String,
    },
}

/// The preloads of a list with distinct labels, and the mistakes in the others.
pub fn distinct(preloads: &[Preload]) -> (Vec<Preload>, Vec<Twice>) {
    let (mut kept, mut wrong): (Vec<Preload>, Vec<Twice>) = Default::default();
    for preload in preloads {
        let suffix = preload.suffix();
        match kept.iter().find(|one| one.suffix().eq_ignore_ascii_case(&suffix)) {
            None => kept.push(preload.clone()),
            Some(first) if first == preload => wrong.push(Twice::Same(preload.to_string())),
            Some(first) => wrong.push(Twice::Label {
                first: first.to_string(),
                second: preload.to_string(),
                suffix,
            }),
        }
    }
    (kept, wrong)
}

/// Every server under each of these, in the order of the servers; one that names its own keeps to that.
pub fn spread(specs: &[ServerSpec], preloads: &[Preload]) -> Vec<ServerSpec> {
    let mut spread = Vec::new();
    for spec in specs {
        if spec.preload.is_some() || preloads.is_empty() {
            spread.push(spec.clone());
            continue;
        }
        spread.extend(preloads.iter().map(|preload| ServerSpec {
            // Without a label of its own it is named later, with the same ending.
            label: spec.label.as_ref().map(|label| format!("{label}{}", preload.suffix())),
            preload: Some(preload.clone()),
            ..spec.clone()
        }));
    }
    spread
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of distinct preloads, and the mistakes.
    fn distinct_named(names: &[&str]) -> (usize, Vec<String>) {
        let preloads: Vec<Preload> = names.iter().map(|name| name.parse().unwrap()).collect();
        let (kept, wrong) = distinct(&preloads);
        (kept.len(), wrong.iter().map(Twice::to_string).collect())
    }

    #[test]
    fn what_would_give_one_label_twice_is_told_and_left_out() {
        assert_eq!(distinct_named(&["system", "jemalloc", "mimalloc"]), (3, Vec::new()));
        let same = "`--preload` names `jemalloc` twice: name it once".to_owned();
        assert_eq!(distinct_named(&["jemalloc", "system", "jemalloc"]), (2, vec![same]));
        let other = "`--preload` names `jemalloc` and `/opt/libjemalloc.so`, and a server with either would be called `…-jemalloc`: give one its own label, --server 'other: preload=/opt/libjemalloc.so SERVER'";
        assert_eq!(
            distinct_named(&["jemalloc", "/opt/libjemalloc.so"]),
            (1, vec![other.to_owned()])
        );
    }

    #[test]
    fn every_server_is_there_under_each_and_one_with_its_own_once() {
        let specs: Vec<ServerSpec> = ["ty", "old: A=1 ./ty", "tuned: preload=mimalloc ty"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        let preloads = ["system", "jemalloc"].map(|text| text.parse().unwrap());
        let spread: Vec<(Option<String>, String)> = spread(&specs, &preloads)
            .into_iter()
            .map(|spec| (spec.label.clone(), spec.unlabelled()))
            .collect();
        let expected = [
            (None, "preload=system ty"),
            (None, "preload=jemalloc ty"),
            (Some("old"), "preload=system A=1 ./ty"),
            (Some("old-jemalloc"), "preload=jemalloc A=1 ./ty"),
            (Some("tuned"), "preload=mimalloc ty"),
        ];
        let expected = expected.map(|(label, text)| (label.map(str::to_owned), text.to_owned()));
        assert_eq!(spread, expected);
        assert_eq!(super::spread(&specs, &[]), specs);
    }
}
