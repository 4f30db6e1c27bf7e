//! Counts of the elements of a result.

use super::*;

fn symbols(result: &str) -> Facts {
    let text = format!(r#"{{"id":1,"result":{result}}}"#);
    let mut whole = Scanner::default();
    whole.reset(false, true);
    whole.feed(text.as_bytes());
    let mut parts = Scanner::default();
    parts.reset(false, true);
    for byte in text.as_bytes() {
        parts.feed(&[*byte]);
    }
    assert_eq!(whole.facts(), parts.facts(), "byte by byte");
    whole.facts().unwrap().clone()
}

fn symbol(children: &str) -> String {
    format!(r#"{{"name":"a,b","range":{{"start":{{"line":1}}}},"children":{children}}}"#)
}

#[test]
fn symbols_inside_of_others_are_elements_too() {
    let leaf = symbol("[]");
    let tree = format!(
        "[{},{leaf}]",
        symbol(&format!("[{leaf},{}]", symbol(&format!("[{leaf}]"))))
    );
    for (result, items, shape) in [
        (tree.as_str(), Some(5), Shape::Full),
        (&format!("[{}]", symbol("null")), Some(1), Shape::Full),
        (
            r#"[{"name":"a","location":{"children":[1,2]}},{"name":"b"}]"#,
            Some(2),
            Shape::Full,
        ),
        ("[]", Some(0), Shape::Empty),
        ("null", None, Shape::Null),
    ] {
        let facts = symbols(result);
        assert_eq!((facts.items, facts.shape), (items, shape), "{result}");
    }
    let deep = symbols(&format!(
        "{}{}",
        r#"[{"children":"#.repeat(100),
        "[]".to_owned() + &"}]".repeat(100)
    ));
    assert_eq!((deep.items, deep.shape), (Some(100), Shape::Full));
}

#[test]
fn a_semantic_token_is_five_numbers() {
    let tokens = answer(r#"{"resultId":"1","data":[0,1,2,3,4,0,1,2,3,4]}"#);
    assert_eq!(tokens.elements("textDocument/semanticTokens/full"), Some(2));
    assert_eq!(tokens.elements("textDocument/hover"), None);
    let none = answer(r#"{"data":[]}"#);
    assert_eq!(
        (none.elements("textDocument/semanticTokens/range"), none.shape),
        (Some(0), Shape::Empty)
    );
}
