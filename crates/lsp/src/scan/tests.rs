mod elements;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::message::Id;

fn scanned(text: &str, chunk: usize) -> Scanner {
    scanned_for(text, chunk, false)
}

fn scanned_for(text: &str, chunk: usize, reads_reports: bool) -> Scanner {
    let mut scanner = Scanner::default();
    scanner.feed(br#"{"id":99,"method":"left/over","result":[1],"error":{"code":1}}"#);
    scanner.reset(reads_reports, false);
    for part in text.as_bytes().chunks(chunk) {
        scanner.feed(part);
    }
    scanner
}

fn facts(text: &str) -> Facts {
    let whole = scanned(text, usize::MAX).facts().cloned();
    assert_eq!(whole, scanned(text, 1).facts().cloned(), "byte by byte");
    whole.unwrap_or_else(|problem| panic!("`{text}` is no message: {problem}"))
}

fn problem(bytes: &[u8]) -> String {
    let mut whole = Scanner::default();
    whole.feed(bytes);
    let mut parts = Scanner::default();
    for byte in bytes {
        parts.feed(&[*byte]);
    }
    let (whole, parts) = (whole.facts().unwrap_err(), parts.facts().unwrap_err());
    assert_eq!(
        (whole.byte, whole.expected),
        (parts.byte, parts.expected),
        "byte by byte"
    );
    whole.to_string()
}

fn answer(result: &str) -> Facts {
    facts(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#))
}

fn shape(result: &str) -> Shape {
    answer(result).shape
}

#[test]
fn ids_are_numbers_or_strings_and_may_follow_the_result() {
    assert_eq!(facts(r#"{"result":[1,[2,3]],"id":12}"#).id, Some(Id::Number(12)));
    assert_eq!(
        facts(r#"{ "result" : { "id" : 7 } , "id" : "a\"b" }"#).id,
        Some(Id::Text("a\"b".to_owned()))
    );
    assert_eq!(facts(r#"{"id":-3.0,"result":null}"#).id, Some(Id::Number(-3)));
    assert_eq!(facts(r#"{"id":null,"error":{"code":-32700,"message":"bad"}}"#).id, None);
}

#[test]
fn a_call_has_a_method_and_a_place_of_its_parameters() {
    let text = r#"{"jsonrpc":"2.0","method":"a\/b","params": {"method":"no","id":5} }"#;
    let found = facts(text);
    let range = found.params.unwrap();
    assert_eq!((found.method.as_str(), found.id), ("a/b", None));
    assert_eq!(
        &text[range.start as usize..range.end as usize],
        r#"{"method":"no","id":5}"#
    );
}

#[test]
fn an_error_has_its_code_its_message_and_the_word_about_asking_again() {
    let text = r#"{"id":1,"error":{"data":{"x":[{}],"retriggerRequest":false},"message":"not \u00e9","code":-32802}}"#;
    let fault = facts(text).error.unwrap();
    assert_eq!(
        (fault.code, fault.message.as_str(), fault.retrigger),
        (-32802, "not é", Some(false))
    );
}

#[test]
fn an_error_of_null_beside_a_result_is_no_error() {
    let found = facts(r#"{"id":1,"error":null,"result":[1]}"#);
    assert_eq!((found.error, found.shape), (None, Shape::Full));
}

#[test]
fn a_long_error_message_is_cut() {
    let text = format!(r#"{{"id":1,"error":{{"code":1,"message":"{}"}}}}"#, "x".repeat(100_000));
    assert_eq!(facts(&text).error.unwrap().message.len(), LONGEST_TEXT);
}

#[test]
fn results_that_hold_nothing_are_null_or_empty() {
    assert_eq!(shape("null"), Shape::Null);
    assert_eq!(facts(r#"{"id":1}"#).shape, Shape::Null);
    for empty in [
        "[]",
        "[ ]",
        "{}",
        r#""""#,
        r#"{"isIncomplete":false,"items":[]}"#,
        r#"{"items":[ ],"isIncomplete":true}"#,
        r#"{"kind":"full","resultId":"7","items":[]}"#,
        r#"{"contents":""}"#,
        r#"{"contents":[]}"#,
        r#"{"contents":["",{"language":"go","value":""}]}"#,
        r#"{"contents":{"kind":"markdown","value":""},"range":{"start":{"line":1}}}"#,
        r#"{"contents":null}"#,
        r#"{"signatures":[],"activeSignature":0}"#,
        r#"{"resultId":"1","data":[]}"#,
        r#"{"changes":{}}"#,
        r#"{"changes":{"file:///a":[]}}"#,
        r#"{"documentChanges":[]}"#,
        r#"{"items":null}"#,
    ] {
        assert_eq!(shape(empty), Shape::Empty, "{empty}");
    }
}

#[test]
fn results_that_hold_something_are_full() {
    for full in [
        "[null]",
        "[[]]",
        "true",
        "0",
        r#""x""#,
        r#"{"a":null}"#,
        r#"{"items":[{}]}"#,
        r#"{"items":[],"signatures":[{"label":"f"}]}"#,
        r#"{"contents":"x"}"#,
        r#"{"contents":["","x"]}"#,
        r#"{"contents":{"kind":"markdown","value":"x"}}"#,
        r#"{"contents":{"kind":["x"]}}"#,
        r#"{"data":[1,2,3,4,5]}"#,
        r#"{"changes":{"file:///a":[{"newText":"","range":{"start":{"line":0}}}]}}"#,
        r#"{"documentChanges":[{}]}"#,
        r#"{"label":"resolved","data":[]}"#,
        r#"{"title":"fix","edit":{"changes":{}}}"#,
        r#"{"uri":"file:///a","range":{}}"#,
    ] {
        assert_eq!(shape(full), Shape::Full, "{full}");
    }
}

#[test]
fn items_are_the_elements_of_a_list_or_of_its_items_member() {
    for (result, items) in [
        ("[]", Some(0)),
        ("[1,[2,3],{\"a\":[4,5]},\",\"]", Some(4)),
        (
            r#"{"isIncomplete":false,"items":[{"label":"a,b"},{"items":[1,2,3]}]}"#,
            Some(2),
        ),
        (r#"{"items":{"a":1}}"#, None),
        (r#"{"deep":{"items":[1]}}"#, None),
        ("null", None),
        ("7", None),
    ] {
        assert_eq!(answer(result).items, items, "{result}");
    }
}

/// The facts of a message while diagnostics are awaited.
fn reported(text: &str) -> Facts {
    let whole = scanned_for(text, usize::MAX, true).facts().cloned();
    assert_eq!(whole, scanned_for(text, 1, true).facts().cloned(), "byte by byte");
    let skipped = facts(text);
    let whole = whole.unwrap_or_else(|problem| panic!("`{text}` is no message: {problem}"));
    if whole.result.is_some() {
        assert_eq!(whole.items, skipped.items, "{text}");
    }
    whole
}

const DOCUMENT: &str = "textDocument/diagnostic";
const WORKSPACE: &str = "workspace/diagnostic";

#[test]
fn elements_of_reports_are_their_diagnostics() {
    let two = r#"{"kind":"full","uri":"file:///a","resultId":"1","items":[{"message":"{]"},{"items":[1,2,3]}]}"#;
    let none = r#"{"items":[],"kind":"full","uri":"file:///b"}"#;
    let unchanged = r#"{"kind":"unchanged","resultId":"7","uri":"file:///c","version":null}"#;
    let related = format!(r#"{{"kind":"full","items":[{{}}],"relatedDocuments":{{"file:///a":{two},"b":{none}}}}}"#);
    let related_to_unchanged = format!(r#"{{"relatedDocuments":{{"a":{two}}},"kind":"unchanged","resultId":"1"}}"#);
    for (method, result, elements, shape) in [
        (
            WORKSPACE,
            format!(r#"{{"items":[{two},{none},{unchanged},{two}]}}"#),
            Some(4),
            Shape::Full,
        ),
        (WORKSPACE, format!(r#"{{"items":[{unchanged}]}}"#), Some(0), Shape::Full),
        (WORKSPACE, r#"{"items":[]}"#.to_owned(), Some(0), Shape::Empty),
        (
            WORKSPACE,
            r#"{"items":[7,"x",[{}],null]}"#.to_owned(),
            Some(0),
            Shape::Full,
        ),
        (WORKSPACE, "null".to_owned(), None, Shape::Null),
        (DOCUMENT, two.to_owned(), Some(2), Shape::Full),
        (DOCUMENT, none.to_owned(), Some(0), Shape::Empty),
        (DOCUMENT, unchanged.to_owned(), Some(0), Shape::Full),
        ("textDocument/completion", two.to_owned(), Some(2), Shape::Full),
    ] {
        let found = reported(&format!(r#"{{"result":{result},"id":1}}"#));
        assert_eq!(
            (found.elements(method), found.shape),
            (elements, shape),
            "{method}: {result}"
        );
    }
    for (result, elements) in [(related, 3), (related_to_unchanged, 2)] {
        let text = format!(r#"{{"id":1,"result":{result}}}"#);
        assert_eq!(reported(&text).elements(DOCUMENT), Some(elements), "{result}");
    }
}

#[test]
fn reports_name_their_documents_and_the_ids_of_their_results() {
    let text = format!(
        r#"{{"method":"$/progress","params":{{"token":"t","value": {{"items":[
            {{"uri":"file:///\u0061","items":[],"resultId":"1"}},
            {{"uri":"file:///b","items":[{{"resultId":"no","uri":"no"}}]}},
            {{"resultId":"none"}},
            {{"uri":"file:///c","resultId":"{long}"}}]}} }}}}"#,
        long = "x".repeat(LONGEST_TEXT)
    );
    let found = reported(&text);
    let named = found.reports.named.iter();
    let named: Vec<(&str, Option<&str>)> = named.map(|one| (&*one.uri, one.result_id.as_deref())).collect();
    assert_eq!(
        named,
        [("file:///a", Some("1")), ("file:///b", None), ("file:///c", None)]
    );
    assert_eq!(found.token, Some(Id::Text("t".to_owned())));
    let (from, to) = (text.find(r#"{"items""#).unwrap(), text.rfind("} }").unwrap());
    assert_eq!(found.value_bytes, (to + 1 - from) as u64);
    assert_eq!(found.elements(WORKSPACE), Some(1));
}

#[test]
fn reports_of_a_server_without_end_do_not_grow_us() {
    let one = format!(r#"{{"uri":"{}","items":[{{}}]}}"#, "u".repeat(LONGEST_TEXT - 1));
    let mut scanner = Scanner::default();
    scanner.reset(true, false);
    scanner.feed(br#"{"id":1,"result":{"items":[{}"#);
    for _ in 0..4_000 {
        scanner.feed(b",");
        scanner.feed(one.as_bytes());
    }
    scanner.feed(b"]}}");
    let found = scanner.facts().unwrap();
    assert_eq!(found.elements(WORKSPACE), Some(4_000));
    let kept: usize = found.reports.named.iter().map(|one| one.uri.len()).sum();
    assert!(kept <= 4 << 20, "{kept}");
}

/// Servers may answer a definition in any of these forms.
#[test]
fn a_single_location_and_lists_have_the_elements_that_they_are() {
    let location = r#"{"uri":"file:///a","range":{}}"#;
    let link = r#"{"targetUri":"file:///a","targetRange":{},"targetSelectionRange":{}}"#;
    for (result, elements) in [
        (location.to_owned(), None),
        (format!("[{location}]"), Some(1)),
        (format!("[{link},{link},{link}]"), Some(3)),
    ] {
        let found = reported(&format!(r#"{{"id":1,"result":{result}}}"#));
        assert_eq!(found.elements("textDocument/definition"), elements, "{result}");
    }
}

#[test]
fn the_size_of_a_result_is_its_bytes_as_sent() {
    for result in ["null", "[ 1 , 2 ]", r#""a\"b""#, r#"{ "a" : { } }"#, "-1.5e3"] {
        let range = answer(result).result.unwrap();
        assert_eq!(range.end - range.start, result.len() as u64, "{result}");
    }
}

#[test]
fn what_is_no_object_or_not_complete_has_no_facts() {
    for text in [
        "",
        "[1]",
        "7",
        "{",
        r#"{"id":1"#,
        r#"{"id":1,"result":[1}"#,
        "nonsense",
        r#"{"id" 1}"#,
        "{}x",
    ] {
        assert!(scanned(text, usize::MAX).facts().is_err(), "{text}");
    }
}

/// Texts that are no JSON value, wherever they stand.
const NO_VALUES: &[&str] = &[
    "garbage", "NaN", "Infinity", "nul", "nulll", "True", "tru", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1",
    "--1", "1.2.3", "1 2", "'a'", "\"a", "\"\\x\"", "\"\\u12g4\"", "\"\\u12\"", "\"a\nb\"", "\"a\tb\"", "\"\u{0}\"",
    "[,]", "[1,]", "[,,,]", "[1 2]", "[1}", "{]", "[garbage !!]", "[NaN]", "[[1],2", "{,}", "{\"a\"}", "{\"a\":}",
    "{\"a\":1,}", "{a:1}", "{1:2}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{\"a\":1]", "[1]]", "{\"a\":[}", "[\u{c}1]",
    "[1,2,-]", "[1,02]", "[1,2e]", "// 1", "[1/**/]", "",
];

#[test]
fn what_is_no_json_has_no_facts_wherever_it_stands() {
    for value in NO_VALUES {
        for place in [
            format!(r#"{{"id":1,"result":{value}}}"#),
            format!(r#"{{"id":1,"result":[{value}]}}"#),
            format!(r#"{{"id":1,"result":[0,{value},0]}}"#),
            format!(r#"{{"id":1,"result":{{"items":[{{"a":{value}}}]}}}}"#),
            format!(r#"{{"id":1,"result":{{"contents":[{value}]}}}}"#),
            format!(r#"{{"id":1,"result":{{"contents":{{"value":{value}}}}}}}"#),
            format!(r#"{{"method":"a","params":[{value}]}}"#),
            format!(r#"{{"method":"a","params":{{"a":{{"b":{value}}}}}}}"#),
            format!(r#"{{"id":1,"error":{{"code":{value}}}}}"#),
            format!(r#"{{"id":1,"error":{{"code":1,"message":"a","data":[{value}]}}}}"#),
        ] {
            let valid = serde_json::from_str::<Value>(&place).is_ok();
            assert_eq!(scanned(&place, usize::MAX).facts().is_ok(), valid, "{place}");
            assert_eq!(scanned(&place, 1).facts().is_ok(), valid, "{place}, byte by byte");
        }
    }
}

#[test]
fn bytes_that_are_no_utf_8_are_no_json() {
    for (bytes, valid) in [
        (&b"\xc3\xa9"[..], true),
        (b"\xe0\xa0\x80", true),
        (b"\xed\x9f\xbf", true),
        (b"\xf4\x8f\xbf\xbf", true),
        (b"\xf0\x90\x80\x80\xc3\xa9", true),
        (b"\xc3", false),
        (b"\xc3(", false),
        (b"\x80", false),
        (b"\xc0\xaf", false),
        (b"\xc1\xbf", false),
        (b"\xe0\x9f\xbf", false),
        (b"\xed\xa0\x80", false),
        (b"\xf0\x8f\xbf\xbf", false),
        (b"\xf4\x90\x80\x80", false),
        (b"\xf5\x80\x80\x80", false),
        (b"\xe2\x82", false),
        (b"\xe2\x82\xac\xff", false),
    ] {
        for (start, end) in [
            (&br#"{"id":1,"result":[""#[..], &br#""]}"#[..]),
            (br#"{"id":1,"result":{"contents":""#, br#""}}"#),
            (br#"{""#, br#"":1}"#),
        ] {
            let text = [
                start,
                b"long enough for more than one word of the processor",
                bytes,
                end,
            ]
            .concat();
            for chunk in [1, 7, text.len()] {
                let mut scanner = Scanner::default();
                for part in text.chunks(chunk) {
                    scanner.feed(part);
                }
                assert_eq!(scanner.facts().is_ok(), valid, "{bytes:x?} in parts of {chunk}");
            }
        }
    }
}

#[test]
fn a_problem_names_the_place_what_is_there_and_what_is_expected() {
    for (bytes, words) in [
        (
            &br#"{"id":1,"result":[garbage !!]}"#[..],
            "byte 19 begins `garbage !!]}`, where a value or `]` is expected",
        ),
        (
            br#"{"id":1,"result":[1,2}}"#,
            "byte 22 begins `}}`, where `,` or `]` is expected",
        ),
        (
            br#"{"id":1,"result":{}} and more"#,
            "byte 22 begins `and more`, where the end of the message is expected",
        ),
        (
            br#"{"id":1,"result":[[]"#,
            "it ends after byte 20, where `,` or `]` is expected",
        ),
        (b"[1]", "byte 1 begins `[1]`, where `{` is expected"),
        (b"", "it is empty, where `{` is expected"),
    ] {
        assert_eq!(problem(bytes), words);
    }
    let mut scanner = Scanner::default();
    scanner.feed(b"\xef\xbb\xbf{\"id\":1}");
    assert_eq!(
        scanner.facts().unwrap_err().to_string(),
        "it begins with a byte order mark, where `{` is expected"
    );
    for bytes in [&b"\xff\xfe{\0"[..], b"\xfe\xff\0{", b"{\0\"\0", b"\0{\0\""] {
        let mut scanner = Scanner::default();
        scanner.feed(bytes);
        assert_eq!(
            scanner.facts().unwrap_err().to_string(),
            "it is UTF-16, where UTF-8 is expected"
        );
    }
}

#[test]
fn an_answer_that_breaks_off_names_its_request_if_the_id_came_first() {
    for (text, begun) in [
        (r#"{"id":7,"result":[garbage"#, Begun::Answer(Some(&Id::Number(7)))),
        (r#"{"result":[garbage],"id":7}"#, Begun::Answer(None)),
        (r#"{"id":7,"method":"a","params":!}"#, Begun::Call),
        (r#"{"jsonrpc":"2.0","params":!,"method":"a"}"#, Begun::Call),
        ("nonsense", Begun::Unknown),
    ] {
        assert_eq!(scanned(text, usize::MAX).begun(), begun, "{text}");
    }
}

#[test]
fn nesting_over_a_million_levels_is_refused_in_bounded_space() {
    let mut scanner = Scanner::default();
    scanner.feed(br#"{"id":1,"result":"#);
    for _ in 0..2_000 {
        scanner.feed(&[b'['; 1_000]);
    }
    let words = scanner.facts().unwrap_err().to_string();
    assert!(
        words.ends_with("where at most 1,048,576 open brackets is expected"),
        "{words}"
    );
}

#[test]
fn a_payload_nested_without_end_is_scanned_in_bounded_space() {
    let depth = 200_000;
    let result = format!(r#"{{"contents":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    assert_eq!(shape(&result), Shape::Full);
    let mut scanner = scanned(&format!(r#"{{"result":{result}}}"#), 1000);
    assert!(scanner.stack.capacity() < 4 * DEEPEST);
    scanner.reset(false, false);
}

fn tree() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        Just("items".to_owned()),
        Just("contents".to_owned()),
        Just("data".to_owned()),
        Just("kind".to_owned()),
        Just("id".to_owned()),
        "[a-z\"\\\\,:{}\\[\\]é😀\n]{0,6}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-1e9..1e9_f64).prop_map(Value::from),
        "[a-z\"\\\\,:{}\\[\\]é😀\n]{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(name.clone(), inner, 0..6).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// The documented definition of emptiness, on a parsed tree.
fn expected_shape(result: &Value) -> Shape {
    let some = match result {
        Value::Null => return Shape::Null,
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(members) => {
            let payload: Vec<bool> = members
                .iter()
                .filter_map(|(name, value)| match (name.as_str(), value) {
                    ("items" | "data", Value::Array(list)) => Some(!list.is_empty()),
                    ("items" | "contents", _) => Some(has_leaf(value)),
                    _other => None,
                })
                .collect();
            if payload.is_empty() {
                !members.is_empty()
            } else {
                payload.contains(&true)
            }
        }
    };
    if some { Shape::Full } else { Shape::Empty }
}

fn has_leaf(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => list.iter().any(has_leaf),
        Value::Object(members) => members.iter().any(|(name, value)| {
            let describes = name == "kind" && !value.is_array() && !value.is_object();
            !describes && has_leaf(value)
        }),
    }
}

fn write(value: &Value, spaced: bool) -> String {
    if spaced {
        serde_json::to_string_pretty(value).unwrap()
    } else {
        serde_json::to_string(value).unwrap()
    }
}

proptest! {
    #[test]
    fn the_scanner_agrees_with_a_parser(
        result in tree(),
        id in any::<i64>(),
        spaced in any::<bool>(),
        order in Just(["jsonrpc", "id", "result", "extra"]).prop_shuffle(),
        chunk in 1_usize..50,
    ) {
        let members = order.map(|name| match name {
            "jsonrpc" => r#""jsonrpc":"2.0""#.to_owned(),
            "id" => format!(r#""id": {id}"#),
            "result" => format!(r#""result":{}"#, write(&result, spaced)),
            _extra => format!(r#""extra":{}"#, write(&json!({"id": 0, "result": [result.clone()]}), spaced)),
        });
        let text = format!("{{{}}}", members.join(","));
        let scanner = scanned(&text, chunk);
        let found = scanner.facts().expect("the text is an object");
        prop_assert_eq!(&found.id, &Some(Id::Number(id)));
        let range = found.result.clone().unwrap();
        prop_assert_eq!(&text[range.start as usize..range.end as usize], write(&result, spaced));
        prop_assert_eq!(found.shape, expected_shape(&result), "{}", text);
        let items = result.as_array().or_else(|| result.get("items")?.as_array()).map(|list| list.len() as u64);
        prop_assert_eq!(found.items, items);
    }

    #[test]
    fn a_changed_text_is_judged_as_a_parser_judges_it(
        result in tree(),
        at in any::<prop::sample::Index>(),
        byte in prop_oneof![
            Just(b'{'), Just(b'}'), Just(b'['), Just(b']'), Just(b'"'), Just(b','), Just(b':'), Just(b'\\'), Just(b'0'),
            Just(b'-'), Just(b'.'), Just(b'e'), any::<u8>()
        ],
        removes in any::<bool>(),
        chunk in 1_usize..50,
    ) {
        let mut bytes = json!({"id": 1, "result": result}).to_string().into_bytes();
        let at = at.index(bytes.len());
        if removes {
            bytes.remove(at);
        } else {
            bytes.insert(at, byte);
        }
        let mut scanner = Scanner::default();
        for part in bytes.chunks(chunk) {
            scanner.feed(part);
        }
        // As raw text, because a parser into values also refuses numbers and escapes that the grammar allows.
        let valid = serde_json::from_slice::<&serde_json::value::RawValue>(&bytes).is_ok() && bytes.trim_ascii_start()[0] == b'{';
        prop_assert_eq!(scanner.facts().is_ok(), valid, "{}", String::from_utf8_lossy(&bytes));
    }
}
