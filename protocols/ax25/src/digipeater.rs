//! This station as a digipeater: of which frames it is the next one, and what their path becomes.
//!
//! `WIDEn-N` is that of the New-N paradigm of APRS (B. Bruninga, 2005): N hops of n are left. Each
//! digipeater writes its call sign before it, and takes one hop off; the last one writes its call
//! sign in its place, as Direwolf does. Only the next digipeater of a path counts: none is passed
//! over (no "preemptive" repeating).

use stackwright_contract::{CallSign, Context};
use stackwright_wire::Message;

use crate::config::{Config, Digipeating};
use crate::header::{Addresses, DigipeaterPath, Unnumbered};
use crate::{Ax25, NAME};

impl Config {
    /// Returns the path of a frame behind this station; `None`: it does not repeat it.
    fn path_behind(&self, mut path: DigipeaterPath, is_ui: bool) -> Option<DigipeaterPath> {
        let next = path.next()?;
        let most = match self.digipeat {
            Digipeating::Off => return None,
            Digipeating::Named | Digipeating::Wide { .. } if self.owns(next) => {
                path.repeat();
                return Some(path);
            }
            Digipeating::Wide { most } if is_ui => most,
            Digipeating::Named | Digipeating::Wide { .. } => return None,
        };
        // It came back, later than copies are remembered.
        if path.iter().any(|(call, repeated)| repeated && self.owns(call)) {
            return None;
        }
        let (n, hops) = wide(next)?;
        if hops == 1 || n > most || hops > n {
            path.repeat_as(self.call);
        } else {
            // The SSID stands in the last octet, from bit 1 on.
            let [name @ .., _] = next.octets();
            let [a, b, c, d, e, f] = name;
            let rest = CallSign::from_octets([a, b, c, d, e, f, (hops - 1) << 1]).ok()?;
            path.repeat_before(self.call, rest)?;
        }
        Some(path)
    }
}

/// Returns n and N of `WIDEn-N`, of which hops are left.
fn wide(call: CallSign) -> Option<(u8, u8)> {
    let [name @ .., _] = call.octets().map(|octet| octet >> 1);
    let (b"WIDE", [n @ b'1'..=b'7', b' ']) = name.split_first_chunk()? else { return None };
    (call.ssid() > 0).then_some((n - b'0', call.ssid()))
}

impl<M: Message> Ax25<M> {
    /// Repeats a frame, if this station is its next digipeater. Its control field begins at `at`.
    pub(crate) fn digipeat(
        &mut self,
        cx: &Context,
        port: u8,
        mut addresses: Addresses,
        at: usize,
        mut message: M,
    ) {
        message.advance(at);
        let control = message.front(1).and_then(|octets| octets.first()).copied();
        let is_ui = control.is_some_and(|octet| octet & !0x10 == Unnumbered::Ui as u8);
        let Some(path) = self.config.path_behind(addresses.path, is_ui) else {
            return; // it has not arrived yet
        };
        addresses.path = path;
        // On a link, the same frame comes again because it was lost.
        if is_ui && let Err(why) = self.repeated.admit(&addresses, &message, cx.now()) {
            return cx.dropped(NAME, why);
        }
        self.repeat(cx, port, addresses, message);
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;
    use alloc::{format, vec};

    use super::*;

    fn behind(path: &str, digipeat: Digipeating, is_ui: bool) -> Option<String> {
        let mut before = DigipeaterPath::DIRECT;
        let calls: Vec<CallSign> = path
            .split(',')
            .map(|call| call.trim_end_matches('*').parse().expect("a call sign"))
            .collect();
        before = DigipeaterPath::through(&calls).unwrap_or(before);
        for _ in path.matches('*') {
            before.repeat();
        }
        let own = |call: &str| call.parse().expect("a call sign");
        let config = Config { digipeat, aliases: vec![own("ME-9")], ..Config::new(own("ME")) };
        let path = config.path_behind(before, is_ui)?;
        let shown =
            path.iter().map(|(call, done)| format!("{call}{}", if done { "*" } else { "" }));
        Some(shown.collect::<Vec<_>>().join(","))
    }

    /// N falls by one with each hop; the call sign of each digipeater is in the path.
    #[test]
    fn wide_n_is_counted_down() {
        let wide = Digipeating::Wide { most: 2 };
        let eight = "A,B,C,D,E,F,G";
        for (before, after) in [
            ("WIDE1-1", "ME*"),
            ("WIDE2-1", "ME*"),
            ("WIDE2-2", "ME*,WIDE2-1"),
            ("A*,WIDE2-2", "A*,ME*,WIDE2-1"),
            ("A*,WIDE2-1", "A*,ME*"),
            ("WIDE1-1,WIDE2-2", "ME*,WIDE2-2"),
            ("WIDE2-2,B", "ME*,WIDE2-1,B"),
            // Too many hops are asked for: one is given.
            ("WIDE3-3", "ME*"),
            ("WIDE7-7", "ME*"),
            ("WIDE2-7", "ME*"),
            ("WIDE1-2", "ME*"),
            // Its own call signs, as without WIDEn-N.
            ("ME", "ME*"),
            ("ME-9,WIDE2-1", "ME-9*,WIDE2-1"),
            // Not the next one, used up, no such word, and one that came back.
            ("A,ME", ""),
            ("A,WIDE1-1", ""),
            ("WIDE2", ""),
            ("WIDE2*", ""),
            ("WIDE", ""),
            ("WIDE-1", ""),
            ("WIDE8-1", ""),
            ("WIDE0-1", ""),
            ("WIDE11-1", ""),
            ("RELAY", ""),
            ("ME*,WIDE2-1", ""),
            ("ME-9*,A*,WIDE2-1", ""),
            // There is no place for the call sign, and it is not repeated without.
            (&format!("{}*,WIDE2-2", eight.replace(',', "*,")), ""),
        ] {
            let after = Some(after).filter(|after| !after.is_empty());
            assert_eq!(behind(before, wide, true).as_deref(), after, "{before}");
        }
        let last = format!("{}*,WIDE2-1", eight.replace(',', "*,"));
        assert!(behind(&last, wide, true).is_some_and(|path| path.ends_with("G*,ME*")));
    }

    #[test]
    fn it_is_off_unless_it_is_asked_for() {
        for (digipeat, path, is_ui, repeats) in [
            (Digipeating::Off, "ME", true, false),
            (Digipeating::Off, "WIDE1-1", true, false),
            (Digipeating::Named, "ME", false, true),
            (Digipeating::Named, "WIDE1-1", true, false),
            (Digipeating::Wide { most: 1 }, "WIDE1-1", true, true),
            (Digipeating::Wide { most: 1 }, "WIDE1-1", false, false),
            (Digipeating::Wide { most: 1 }, "ME", false, true),
        ] {
            assert_eq!(behind(path, digipeat, is_ui).is_some(), repeats, "{digipeat:?} {path}");
        }
    }
}
