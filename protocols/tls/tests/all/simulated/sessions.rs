//! Sessions that are resumed: which, by whom, and how many.

use stackwright_contract::{Secure, SessionGroup};
use stackwright_simulator::Habits;
use stackwright_tls::{Config, TlsVersions};

use crate::simulated::setting::{CLIENT, Pair, SERVER, VERSIONS, joins, trusting};

/// Secures an association and returns what the command returned at the client and at the server.
fn outcomes(pair: &mut Pair, index: u32, client: Secure, server: Secure) -> [u32; 2] {
    pair.open_secure(index, client, server);
    pair.run(1);
    [0, 1].map(|side| pair.known(side, index).outcomes[0].unwrap())
}

fn group(secure: Secure, number: u64) -> Secure {
    Secure { sessions: SessionGroup::Begins(number), ..secure }
}

fn each(sessions: usize, try_it: impl Fn(&mut Pair)) {
    for versions in VERSIONS {
        let configs = trusting().map(|config| Config { versions, sessions, ..config });
        try_it(&mut Pair::new(1, configs, Habits::default()));
    }
}

#[test]
fn associations_that_join_resume_as_often_as_they_want() {
    each(64, |pair| {
        assert_eq!(outcomes(pair, 1, CLIENT, SERVER), [0, 0]);
        for index in 2..40 {
            assert_eq!(outcomes(pair, index, joins(CLIENT, 1), joins(SERVER, 1)), [1, 1]);
        }
    });
}

#[test]
fn a_session_of_another_group_is_not_this_groups() {
    each(64, |pair| {
        assert_eq!(outcomes(pair, 1, group(CLIENT, 1), group(SERVER, 1)), [0, 0]);
        assert_eq!(outcomes(pair, 2, group(CLIENT, 2), group(SERVER, 2)), [0, 0]);
        // The second client is quicker at the port that was opened for the first.
        assert_eq!(outcomes(pair, 3, joins(CLIENT, 2), joins(SERVER, 1)), [1, 0]);
        assert_eq!(outcomes(pair, 4, joins(CLIENT, 1), joins(SERVER, 1)), [1, 1]);
        assert_eq!(outcomes(pair, 5, joins(CLIENT, 2), joins(SERVER, 2)), [1, 1]);
    });
}

#[test]
fn who_did_a_full_handshake_for_data_does_not_resume_the_group_with_it() {
    each(64, |pair| {
        assert_eq!(outcomes(pair, 1, CLIENT, SERVER), [0, 0]);
        // Another client, whose own sessions have another number.
        assert_eq!(outcomes(pair, 2, joins(CLIENT, 9), joins(SERVER, 1)), [0, 0]);
        assert_eq!(outcomes(pair, 3, joins(CLIENT, 9), joins(SERVER, 1)), [1, 0]);
    });
}

#[test]
fn a_group_that_is_over_is_joined_by_no_one() {
    each(64, |pair| {
        assert_eq!(outcomes(pair, 1, CLIENT, SERVER), [0, 0]);
        for side in 0..2 {
            pair.sends(side, 1, &[], true);
        }
        pair.run(1);
        assert!(pair.known(1, 1).ended.is_some());
        assert_eq!(outcomes(pair, 2, joins(CLIENT, 1), joins(SERVER, 1)), [1, 0]);
    });
}

#[test]
fn a_server_that_keeps_no_sessions_shakes_hands_in_full() {
    each(0, |pair| {
        assert_eq!(outcomes(pair, 1, CLIENT, SERVER), [0, 0]);
        assert_eq!(outcomes(pair, 2, joins(CLIENT, 1), joins(SERVER, 1)), [0, 0]);
    });
}

#[test]
fn a_server_forgets_the_oldest_sessions() {
    each(4, |pair| {
        assert_eq!(outcomes(pair, 1, group(CLIENT, 1), group(SERVER, 1)), [0, 0]);
        for other in 2..8 {
            let number = u64::from(other);
            let pair_of = [group(CLIENT, number), group(SERVER, number)];
            assert_eq!(outcomes(pair, other, pair_of[0], pair_of[1]), [0, 0]);
        }
        assert_eq!(outcomes(pair, 20, joins(CLIENT, 1), joins(SERVER, 1)), [0, 0]);
        assert_eq!(outcomes(pair, 21, joins(CLIENT, 7), joins(SERVER, 7)), [1, 1]);
    });
}

/// Clients that are gone leave sessions behind, and those of a client that is there outlive them.
#[test]
fn the_sessions_of_a_client_that_stays_are_kept() {
    each(4, |pair| {
        assert_eq!(outcomes(pair, 1, group(CLIENT, 1), group(SERVER, 1)), [0, 0]);
        for other in 2..12 {
            let number = u64::from(other);
            let [client, server] = [group(CLIENT, number), group(SERVER, number)];
            assert_eq!(outcomes(pair, other, client, server), [0, 0]);
            for side in 0..2 {
                pair.sends(side, other, &[], true);
            }
            pair.run(1);
        }
        assert_eq!(outcomes(pair, 20, joins(CLIENT, 1), joins(SERVER, 1)), [1, 1]);
    });
}

/// A server's tickets are octets that its client may never read.
#[test]
fn an_association_that_borrows_resumes_and_is_sent_no_ticket() {
    let configs = trusting().map(|config| Config { versions: TlsVersions::Only13, ..config });
    let mut pair = Pair::new(1, configs, Habits::default());
    assert_eq!(outcomes(&mut pair, 1, CLIENT, SERVER), [0, 0]);
    let borrows = Secure { sessions: SessionGroup::Borrows(1), ..SERVER };
    let mut passed = |secures: &[Secure], index| {
        pair.open(index, 1 << 16);
        pair.secure(0, index, joins(CLIENT, 1));
        for secure in secures {
            pair.secure(1, index, *secure);
        }
        pair.run(1);
        let resumed = vec![Ok(Secure::RESUMED); secures.len()];
        assert_eq!(pair.known(1, index).outcomes, resumed, "each command is answered");
        pair.world.network().associations()[index as usize - 1].octets
    };
    let joined = passed(&[joins(SERVER, 1)], 2);
    let borrowed = passed(&[borrows], 3);
    assert!(borrowed < joined, "{borrowed} octets where {joined} have a ticket");
    // The later command counts.
    assert_eq!(passed(&[borrows, joins(SERVER, 1)], 4), joined);
    assert_eq!(passed(&[joins(SERVER, 1), borrows], 5), borrowed);
}
