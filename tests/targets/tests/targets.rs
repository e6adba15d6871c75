//! The corpus, and some thousand mutations of it, through every target.

use stackwright_targets::{Mutations, TARGETS, corpus, shortened};

fn check(name: &str, mutations: usize) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    let corpus = corpus(name).expect("its corpus");
    assert!(!corpus.is_empty());
    for input in &corpus {
        (target.run)(input);
    }
    let mut supply = Mutations::new(&corpus, 1);
    for _ in 0..mutations {
        (target.run)(supply.another());
    }
}

#[test]
fn headers_encode_to_what_they_were_decoded_from() {
    check("headers", 5000);
}

#[test]
fn lines_and_commands_do_not_depend_on_how_they_are_cut() {
    check("commands", 5000);
}

#[test]
fn replies_do_not_depend_on_how_they_are_cut() {
    check("replies", 5000);
}

#[test]
fn addresses_are_read_as_they_are_written() {
    check("addresses", 5000);
}

#[test]
fn listings_are_read_as_they_are_written() {
    check("listings", 5000);
}

#[test]
fn a_file_is_the_same_however_it_is_cut() {
    check("forms", 5000);
}

#[test]
fn a_server_holds_nothing_when_everybody_is_gone() {
    check("server", 4000);
}

#[test]
fn every_session_with_a_server_ends_and_every_reply_is_one() {
    check("sessions", 150);
}

#[test]
fn a_client_gives_each_job_its_last_word() {
    check("client", 4000);
}

#[test]
fn a_description_is_a_graph_or_has_a_flaw_at_a_place() {
    check("descriptions", 5000);
}

#[test]
fn frames_of_a_tnc_do_not_depend_on_how_its_line_is_cut() {
    check("kiss", 5000);
}

#[test]
fn a_server_of_agw_holds_nothing_when_its_program_is_gone() {
    check("agw", 3000);
}

#[test]
fn a_capture_is_shown_as_far_as_it_goes() {
    check("captures", 5000);
}

#[test]
fn what_stands_in_packets_of_artp_is_read_as_it_is_written() {
    check("artp_headers", 5000);
}

#[test]
fn endpoints_of_artp_hold_nothing_when_all_have_closed() {
    check("artp", 2000);
}

#[test]
fn a_protocol_compiles_or_is_wrong_at_a_place() {
    check("protocols", 3000);
}

#[test]
fn a_picture_is_joined_as_it_was_split() {
    check("jpeg", 3000);
}

#[test]
fn tailored_transports_keep_their_contract_with_whatever_is_altered() {
    check("tailored", 2000);
}

#[test]
fn roles_keep_within_their_credit_and_end_once() {
    check("roles", 5000);
}

#[test]
fn protocols_of_the_catalogue_keep_their_contract_whatever_comes() {
    check("listed", 1500);
}

#[test]
fn headers_of_a_group_and_words_about_views_are_read_as_they_are_written() {
    check("group_headers", 5000);
}

#[test]
fn a_member_of_a_group_minds_nothing_that_it_hears() {
    check("group_member", 1500);
}

#[test]
fn every_target_has_a_test_here() {
    assert_eq!(TARGETS.len(), 38);
}

#[test]
fn an_input_is_shortened_to_what_matters() {
    let input = b"some octets, then the one that matters: ! and some more";
    assert_eq!(shortened(input, |octets| octets.contains(&b'!')), b"!");
    assert_eq!(shortened(input, |_| true), b"");
}

#[test]
fn the_information_of_xid_is_read_as_it_is_written() {
    check("ax25_xid", 5000);
}

#[test]
fn what_stands_in_frames_of_ax25_is_read_as_it_is_written() {
    check("ax25_frames", 5000);
}

#[test]
fn a_station_of_ax25_keeps_within_its_bounds_and_gives_each_name_its_last_word() {
    check("ax25", 4000);
}

#[test]
fn what_stands_in_packets_of_xtp_is_read_as_it_is_written() {
    check("xtp_headers", 5000);
}

#[test]
fn contexts_of_xtp_come_to_an_end_whatever_they_hear() {
    check("xtp_packets", 2000);
}

#[test]
fn endpoints_of_xtp_hold_nothing_when_all_have_closed() {
    check("xtp", 2000);
}

#[test]
fn a_group_of_xtp_holds_nothing_when_all_have_closed() {
    check("xtp_group", 1000);
}

#[test]
fn a_router_sends_packets_that_its_link_takes_whatever_arrives() {
    check("ip", 5000);
}

#[test]
fn what_stands_in_packets_of_the_internet_is_read_as_it_is_written() {
    check("inet_headers", 5000);
}

#[test]
fn a_station_that_relays_holds_no_more_than_it_may_whatever_arrives() {
    check("dsr", 3000);
}

#[test]
fn a_host_on_ethernet_knows_no_more_than_it_may_whatever_arrives() {
    check("resolve", 3000);
}

#[test]
fn a_host_with_tcp_ends_all_whatever_arrives_and_is_asked() {
    check("tcp", 3000);
}

#[test]
fn a_host_with_xstp_ends_all_whatever_arrives_and_is_asked() {
    check("xstp", 3000);
}

#[test]
fn streams_of_one_association_have_their_last_words() {
    check("merged", 4000);
}

#[test]
fn packets_by_rules_come_back() {
    check("compress", 4000);
}

#[test]
fn an_application_at_a_host_costs_its_quota_and_nothing_else() {
    check("ipc_host", 4000);
}
