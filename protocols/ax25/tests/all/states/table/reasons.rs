//! Why stations do what they do, where it takes a sentence.

pub(super) const REPEATED_OPENING: &str = "the peer has not shown that it is connected: its \
    SABM or the answer was lost or doubled; numbers \
    begin again, and frames that nobody acknowledged \
    keep their places";
pub(super) const PEER_WANTS_LESS: &str = "both open, and the peer wants less: the link counts \
    as it does";
pub(super) const WE_WANT_LESS: &str = "both open, and this side wants less: the peer \
    answers our SABM, and takes up its numbers";
pub(super) const BEGUN_ANEW: &str = "the peer was connected and begins anew, so octets \
    under way are lost: the stream ends, and the SABM is \
    one of a new link, for which nobody waits here";
pub(super) const CUT_SHORT: &str = "figure C4.4; octets that are not acknowledged make \
    the end a reset";
pub(super) const DOUBLED_UA: &str = "a doubled UA; the specification would begin anew \
    (error C) and lose octets";
pub(super) const DM_AS_FRMR: &str = "DM as well as FRMR can mean that SABME is not \
    understood: SABM";
pub(super) const ERROR_K: &str = "the specification begins anew (error K) and loses \
    octets: the stream ends, and the peer is told";
pub(super) const ONE_DM: &str = "nothing is asked, so nothing is answered: one DM for \
    each question suffices";
pub(super) const REPEATED: &str = "the specification rejects it as if it were ahead, \
    and all is sent once more; it is acknowledged by T2";
pub(super) const REPEATED_ASKS: &str = "the specification rejects it as if it were ahead; \
    the answer says what is expected";
pub(super) const INVALID_I: &str = "the specification begins anew (error J) and loses \
    octets; the frame is dropped, and a question is \
    under way, whose answer decides";
pub(super) const ERROR_O: &str = "the specification begins anew (error O); a peer that \
    sends more than was agreed is understood all the \
    same. What there is no credit for makes this side \
    busy";
pub(super) const OF_ANOTHER: &str = "it is acknowledged and dropped: what the peer's other \
    protocols say is no fault of the link";
pub(super) const RESPONSE: &str = "the SDL answers with a command; it is a response";
pub(super) const AT_ONCE: &str = "an answer to P=1 of an I frame: everything before it \
    arrived by then, or is lost, so it is sent again \
    without a wait for T1";
pub(super) const AGREED: &str = "figure C4.5; state 3, because the peers agree again \
    on what has arrived";
pub(super) const ERROR_J: &str = "the specification begins anew (error J) and loses \
    octets; a frame of an earlier link can have done it, \
    and a question is under way, whose answer decides";
pub(super) const INVALID_ANSWER: &str = "the answer itself is invalid, so the peers do not \
    agree: the stream ends, and the peer is told";
pub(super) const ONE_CHANNEL: &str = "on one channel nothing is sent again while the \
    peer's answer to P=1 is awaited: it says what else \
    is missing";
pub(super) const AS_REJECT: &str = "sent again after the answer to P=1 that is awaited, \
    as with REJ";
pub(super) const SELECTIVE: &str = "6.4.4.2; with F=1 it acknowledges what is before";
pub(super) const XID: &str = "6.3.2; a link that counts to 8 uses nothing of it";
pub(super) const ERROR_L: &str = "the specification begins anew (error L) and loses \
    octets; ignored";
pub(super) const RC_FROM_ONE: &str = "RC counts the first SABM: else N2 + 1 of them are \
    sent";
pub(super) const SILENCE: &str = "some stations answer SABME with nothing: SABM after \
    three";
pub(super) const ONE_LINK: &str = "there is one link between two call signs; the \
    second that asks is told";
pub(super) const BURST: &str = "a burst ends with P=1, and the next waits for the \
    answer: the channel has one direction at a time";
pub(super) const DRAINED: &str = "a stream is released when everything is acknowledged";
pub(super) const NOT_REQUEUED: &str = "the SDL requeues it until the link is open; the peer \
    may have accepted, so DISC is sent at once";
pub(super) const BROKEN_OFF: &str = "DISC alone ends a stream in good order, and half of it \
    is taken for the whole: DM says that it is not";
pub(super) const BUSY: &str = "6.4.10; what has arrived is kept, not discarded";
pub(super) const FLOW_ON: &str = "figure C4.4: the peer is asked, so that the word is \
    not lost";
pub(super) const UNDER_WAY: &str = "a question is under way: its answer is waited for, \
    and RR said at once";
pub(super) const NO_TNC: &str = "timers stop: without a TNC nothing can be late";
pub(super) const TNC_LOST: &str = "the TNC has lost what waited: it is asked once more";
