//! ECN (RFC 3168).

use stackwright_contract::services::Ecn;
use stackwright_tcp::Config;
use stackwright_transport::words::Phase;

use crate::scene::{Scene, octets};

const FIN: u8 = 1;
const SYN: u8 = 2;
const ACK: u8 = 16;
const ECHO: u8 = 64;
const REDUCED: u8 = 128;

fn with(ecn: [bool; 2]) -> Scene {
    Scene::new([0, 1].map(|side| Config { ecn: ecn[side], ..Config::new([side as u8; 16]) }))
}

/// §6.1.1: who wants it, and §6.1.1.1: a SYN that is repeated does not offer it.
#[test]
fn it_is_used_where_both_want_it() {
    for (ecn, lost) in [([true; 2], 0), ([true, false], 0), ([false, true], 0), ([true; 2], 1)] {
        let mut scene = with(ecn);
        scene.ends[0].association.open(scene.now);
        let (mut flags, mut lost) = (Vec::new(), lost);
        for _ in 0..1500 {
            scene.step_with(|_, segment| {
                flags.push(segment[13]);
                lost -= 1;
                lost < 0
            });
        }
        assert_eq!([0, 1].map(|side| scene.phase(side)), [Phase::Open; 2]);
        let asks = if ecn[0] { SYN | ECHO | REDUCED } else { SYN };
        assert_eq!(flags[0], asks);
        let (repeated, used) = (flags[1] == SYN, flags.contains(&(SYN | ACK | ECHO)));
        assert_eq!(used, ecn == [true; 2] && !repeated, "{flags:?}");
        scene.send(0, b"x");
        scene.speaks(0);
        let bears = if used { Ecn::Ect } else { Ecn::NotEct };
        assert_eq!(scene.ends[0].association.ecn(), bears);
    }
}

/// §6.1.2, §6.1.3: a mark is echoed until CWR comes, and shrinks the window once.
#[test]
fn a_mark_shrinks_the_window_once_and_is_echoed_until_that_is_said() {
    let mut scene = with([true; 2]);
    scene.ends[0].association.open(scene.now);
    (0..50).for_each(|_| scene.step());
    scene.answers_each = true;
    scene.send(0, &octets(400_000));
    let (mut echoes, mut reduced, mut data) = (0, 0, 0);
    let mut windows = Vec::new();
    while scene.ends[1].heard.len() < 400_000 {
        let mut marks = false;
        scene.step_with(|side, segment| {
            let (is_data, flags) = (segment.len() > 100, segment[13]);
            data += usize::from(side == 0 && is_data);
            marks |= side == 0 && is_data && data == 50;
            assert!(flags & SYN == 0 && flags & FIN == 0);
            echoes += usize::from(side == 1 && flags & ECHO > 0);
            reduced += usize::from(side == 0 && flags & REDUCED > 0);
            true
        });
        if marks {
            scene.ends[1].association.on_marked(Ecn::Ce, 1);
        }
        windows.push(scene.window(0));
    }
    assert_eq!(reduced, 1, "it is said once");
    assert!((1..60).contains(&echoes), "until then: {echoes}");
    let falls = windows.windows(2).filter(|pair| pair[1] < pair[0]).count();
    assert_eq!(falls, 1, "{windows:?}");
    let counts = scene.ends[0].association.counts();
    assert_eq!((counts.lost, counts.retransmitted), (0, 0));
}

/// §6.1.4, §6.1.5: neither an acknowledgement nor what is sent again may be marked.
#[test]
fn only_new_data_may_be_marked() {
    let mut scene = with([true; 2]);
    scene.ends[0].association.open(scene.now);
    (0..50).for_each(|_| scene.step());
    scene.send(0, &octets(5000));
    assert_eq!(scene.speaks(0).len(), 4, "they are lost");
    assert_eq!(scene.ends[0].association.ecn(), Ecn::Ect);
    while scene.ends[1].heard.is_empty() {
        scene.now = scene.now.later(1_000_000);
        scene.ends[0].association.handle_timeout(scene.now);
        for segment in scene.speaks(0) {
            assert_eq!(scene.ends[0].association.ecn(), Ecn::NotEct, "again");
            scene.hears(1, &segment);
        }
    }
    scene.now = scene.now.later(100_000_000);
    scene.ends[1].association.handle_timeout(scene.now);
    assert_eq!(scene.speaks(1).len(), 1);
    assert_eq!(scene.ends[1].association.ecn(), Ecn::NotEct, "an acknowledgement");
}
