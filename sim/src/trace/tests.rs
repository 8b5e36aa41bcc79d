use super::*;

fn read(text: &str) -> Result<Trace, TraceError> {
    Trace::read(text.as_bytes(), "dir/some.trace", Options::default())
}

fn refusal(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

fn at_and_cost(trace: &Trace) -> Vec<(u64, u64)> {
    trace.records.iter().map(|record| (record.at_ns, record.cost)).collect()
}

#[test]
fn the_azure_form_is_read_with_crlf_and_without_a_last_line_end() {
    let trace = read(
        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n\
         2023-11-16 18:17:03.9799600,4808,10\r\n\
         2023-11-16 18:17:04.0319600,3180,8",
    )
    .unwrap();
    assert_eq!(trace.form, Form::Azure);
    assert_eq!(trace.name, "some.trace");
    assert_eq!(at_and_cost(&trace), [(0, 4828), (52_000_000, 3196)]);
    assert_eq!((trace.out_of_order, trace.tenants), (0, 0));
}

#[test]
fn the_mooncake_form_is_read_sorted_stably_and_what_was_out_of_order_is_counted() {
    let trace = read(
        "{\"timestamp\": 2000, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": [0, 1]}\n\
         {\"timestamp\": 500, \"input_length\": 2, \"output_length\": 0}\n\
         {\"timestamp\": 500.5, \"input_length\": 3, \"output_length\": 0}\n\
         {\"timestamp\": 500, \"input_length\": 4, \"output_length\": 0}\n\n\n",
    )
    .unwrap();
    assert_eq!(trace.form, Form::Mooncake);
    assert_eq!(at_and_cost(&trace), [(0, 2), (0, 4), (500_000, 3), (1_500_000_000, 3)]);
    assert_eq!(trace.out_of_order, 3);
}

#[test]
fn the_generic_form_is_read_with_and_without_bytes() {
    let trace = read("arrival_s,tenant,cost\n1.5,acme,3\n2,zeta,4\n2,acme,5\n").unwrap();
    assert_eq!(at_and_cost(&trace), [(0, 3), (500_000_000, 4), (500_000_000, 5)]);
    assert_eq!(trace.records.iter().map(|record| record.tenant).collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!((trace.form, trace.tenants), (Form::Generic, 2));
    let trace = read("\u{feff}arrival_s,tenant,cost,bytes\n0,a,3,77\n").unwrap();
    assert_eq!(trace.records[0].bytes, 77);
}

#[test]
fn both_token_forms_cost_input_plus_two_output() {
    let trace = read("arrival_s,tenant,input_tokens,output_tokens\n0.207938,2,36,137\n").unwrap();
    assert_eq!(trace.records[0].cost, 36 + 2 * 137);
    let trace = read("arrival_ms,group,input_tokens,output_tokens\n0,0,6758,500\n3000,1,1,1\n").unwrap();
    assert_eq!(at_and_cost(&trace), [(0, 7758), (3_000_000_000, 3)]);
    assert_eq!(trace.form, Form::Tokens);
}

#[test]
fn the_weight_of_an_output_token_can_be_chosen() {
    let text = "arrival_s,tenant,input_tokens,output_tokens\n0,2,10,5\n";
    let trace = Trace::read(text.as_bytes(), "t", Options { output_weight: 7 }).unwrap();
    assert_eq!(trace.records[0].cost, 45);
}

#[test]
fn a_malformed_line_is_refused_with_file_line_column_and_reason() {
    let azure = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,1,1\r\n";
    assert_eq!(
        refusal(&format!("{azure}2023-11-16 18:17:04.0319600,-3180,8\r\n")),
        "dir/some.trace:3:29: ContextTokens is \"-3180\", allowed is a whole number from 0 to 1000000000"
    );
    assert_eq!(
        refusal(&format!("{azure}yesterday,3180,8\r\n")),
        "dir/some.trace:3:1: TIMESTAMP is \"yesterday\", allowed is a time like 2023-11-16 18:17:03.9799600, \
         in the years 1970 to 2261"
    );
    assert_eq!(
        refusal(&format!("{azure}2023-11-16 18:17:04.0319600,3180\r\n")),
        "dir/some.trace:3:33: found 2 fields, allowed is 3 fields: TIMESTAMP,ContextTokens,GeneratedTokens"
    );
    assert_eq!(
        refusal(&format!("{azure}2023-11-16 18:17:04.0319600,3180,8,9\r\n")),
        "dir/some.trace:3:36: found 4 fields, allowed is 3 fields: TIMESTAMP,ContextTokens,GeneratedTokens"
    );
}

#[test]
fn numbers_that_are_not_finite_or_do_not_fit_are_refused() {
    for (row, place) in [
        ("NaN,a,1", "2:1: arrival_s is \"NaN\""),
        ("inf,a,1", "2:1: arrival_s is \"inf\""),
        ("1e3,a,1", "2:1: arrival_s is \"1e3\""),
        ("-1,a,1", "2:1: arrival_s is \"-1\""),
        ("+1,a,1", "2:1: arrival_s is \"+1\""),
        (".5,a,1", "2:1: arrival_s is \".5\""),
        ("5.,a,1", "2:1: arrival_s is \"5.\""),
        ("1000000000.1,a,1", "2:1: arrival_s is"),
        ("99999999999999999999999,a,1", "2:1: arrival_s is"),
        ("0,a,1.5", "2:5: cost is \"1.5\""),
        ("0,a,1000000001", "2:5: cost is"),
        ("0,a,18446744073709551616", "2:5: cost is"),
        ("0,a,", "2:5: cost is \"\""),
        ("0,,1", "2:3: tenant is \"\""),
        ("0,\"a\",1", "2:3: tenant is"),
    ] {
        let message = refusal(&format!("arrival_s,tenant,cost\n{row}\n"));
        assert!(message.starts_with(&format!("dir/some.trace:{place}")), "{row}: {message}");
        assert!(message.contains("allowed is"), "{row}: {message}");
    }
}

#[test]
fn a_malformed_json_line_is_refused_at_its_own_line_and_column() {
    let good = "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1}\n";
    for (row, place) in [
        (
            "{\"timestamp\": 0, \"input_length\": -1, \"output_length\": 1}",
            "2:35: invalid value: integer `-1`",
        ),
        ("{\"timestamp\": 0, \"input_length\": 1}", "2:35: missing field `output_length`"),
        ("{\"timestamp\": 1e400, \"input_length\": 1, \"output_length\": 1}", "2:19: number out of range"),
        ("{\"timestamp\": -1, \"input_length\": 1, \"output_length\": 1}", "2:3: timestamp is -1"),
        ("{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1000000001}", "2:38: output_length is"),
        ("{\"timestamp\": 0", "2:15: EOF while parsing"),
        ("nonsense", "2:2: expected ident"),
    ] {
        let message = refusal(&format!("{good}{row}\n"));
        assert!(message.starts_with(&format!("dir/some.trace:{place}")), "{row}: {message}");
        assert!(message.contains("allowed is"), "{row}: {message}");
    }
}

#[test]
fn an_unknown_header_is_refused_and_the_known_ones_are_named() {
    let message = refusal("client,window_start_s,rate_rps\n0,1,2\n");
    assert!(message.starts_with("dir/some.trace:1:1: found \"client,window_start_s,rate_rps\""), "{message}");
    assert!(message.contains("arrival_s,tenant,cost[,bytes]"), "{message}");
}

#[test]
fn a_trace_without_requests_is_refused() {
    for text in ["", "\n\n", "arrival_s,tenant,cost\n", "TIMESTAMP,ContextTokens,GeneratedTokens"] {
        assert_eq!(refusal(text), "dir/some.trace: the trace has no requests", "{text:?}");
    }
}

#[test]
fn a_blank_line_is_harmless_at_the_end_and_refused_before_a_record() {
    assert_eq!(read("arrival_s,tenant,cost\n0,a,1\r\n\r\n\r\n").unwrap().records.len(), 1);
    let message = refusal("arrival_s,tenant,cost\n\n\n0,a,1\n");
    assert!(message.starts_with("dir/some.trace:2:1: found a blank line"), "{message}");
}

#[test]
fn bytes_that_are_not_text_are_refused_where_they_stand() {
    let error = Trace::read(&b"arrival_s,tenant,cost\n0,\xff,1\n"[..], "t", Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "t:2:3: found bytes that are not text, allowed is UTF-8");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Trace::open(Path::new("no/such.csv"), Options::default()).unwrap_err();
    assert!(error.to_string().starts_with("no/such.csv: "), "{error}");
}
