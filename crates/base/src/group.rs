/// The values of each key; keys are in the order of their first appearance.
pub fn group_values<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

#[test]
fn keys_stay_in_the_order_in_which_they_first_appear() {
    let groups = group_values([("b", 1), ("a", 2), ("b", 3)]);
    assert_eq!(groups, [("b", vec![1, 3]), ("a", vec![2])]);
}
