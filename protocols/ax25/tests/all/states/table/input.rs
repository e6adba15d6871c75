//! What happens to a link.

/// What happens to a link. Where that matters, one I frame with N(S) = 0 is not acknowledged, and
/// asked for an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Input {
    /// SABM, P=1.
    Sabm,
    /// SABME, P=1.
    Sabme,
    /// SABM, P=1, after a frame that showed that the peer is connected.
    SabmAnew,
    /// DISC, P=1.
    Disc,
    /// UA, F=1.
    Ua,
    /// UA, F=0.
    UaUnasked,
    /// DM, F=1.
    Dm,
    /// DM, F=0.
    DmUnasked,
    /// FRMR, F=0.
    Frmr,
    /// I, in order, P=0.
    INext,
    /// I, in order, P=0, acknowledges.
    INextAcknowledges,
    /// I, in order, P=1.
    INextAsks,
    /// I, ahead, P=0.
    IAhead,
    /// I, ahead once more, P=0.
    IAheadAgain,
    /// I, ahead, P=1.
    IAheadAsks,
    /// I, repeated, P=0.
    IRepeated,
    /// I, repeated, P=1.
    IRepeatedAsks,
    /// I, in order, N(R) invalid.
    IInvalid,
    /// I as a response.
    IResponse,
    /// I, longer than N1, P=1.
    ILong,
    /// I, in order, of a protocol that nobody takes.
    IOfAnother,
    /// RR command, P=1.
    RrAsks,
    /// RR response, F=0, acknowledges.
    RrAcknowledges,
    /// RR response, F=1, acknowledges all.
    RrAnswersAll,
    /// RR response, F=1, acknowledges nothing.
    RrAnswersNone,
    /// RR response, F=0, N(R) invalid.
    RrInvalid,
    /// RR response, F=1, N(R) invalid.
    RrAnswersInvalid,
    /// RNR command, P=1.
    RnrAsks,
    /// RNR response, F=0, acknowledges.
    Rnr,
    /// RNR response, F=1, acknowledges nothing.
    RnrAnswers,
    /// REJ response, F=0.
    Rej,
    /// REJ response, F=1.
    RejAnswers,
    /// REJ command, P=1.
    RejAsks,
    /// SREJ response, F=0.
    Srej,
    /// SREJ response, F=1.
    SrejAnswers,
    /// SREJ of a number that was not sent.
    SrejInvalid,
    /// XID command.
    XidAsks,
    /// XID response.
    XidAnswers,
    /// TEST command.
    Test,
    /// UI, P=1.
    Ui,
    /// An unknown control field.
    Unknown,
    /// T1 expires.
    T1,
    /// T1 expires for the third time, N2 = 3.
    T1Third,
    /// T2 expires after an I frame.
    T2,
    /// T3 expires, all acknowledged.
    T3,
    /// Open to the same peer.
    Open,
    /// Send.
    Send,
    /// Finish, not all acknowledged.
    Finish,
    /// Finish, all acknowledged.
    FinishDrained,
    /// Abort.
    Abort,
    /// Close.
    Close,
    /// I beyond the credit above.
    RoomUsedUp,
    /// Credit above, after I beyond it.
    RoomBack,
    /// The TNC goes.
    LineDown,
    /// The TNC comes back.
    LineUp,
}

impl Input {
    /// All of them.
    pub(crate) const ALL: [Self; 55] = [
        Input::Sabm,
        Input::Sabme,
        Input::SabmAnew,
        Input::Disc,
        Input::Ua,
        Input::UaUnasked,
        Input::Dm,
        Input::DmUnasked,
        Input::Frmr,
        Input::INext,
        Input::INextAcknowledges,
        Input::INextAsks,
        Input::IAhead,
        Input::IAheadAgain,
        Input::IAheadAsks,
        Input::IRepeated,
        Input::IRepeatedAsks,
        Input::IInvalid,
        Input::IResponse,
        Input::ILong,
        Input::IOfAnother,
        Input::RrAsks,
        Input::RrAcknowledges,
        Input::RrAnswersAll,
        Input::RrAnswersNone,
        Input::RrInvalid,
        Input::RrAnswersInvalid,
        Input::RnrAsks,
        Input::Rnr,
        Input::RnrAnswers,
        Input::Rej,
        Input::RejAnswers,
        Input::RejAsks,
        Input::Srej,
        Input::SrejAnswers,
        Input::SrejInvalid,
        Input::XidAsks,
        Input::XidAnswers,
        Input::Test,
        Input::Ui,
        Input::Unknown,
        Input::T1,
        Input::T1Third,
        Input::T2,
        Input::T3,
        Input::Open,
        Input::Send,
        Input::Finish,
        Input::FinishDrained,
        Input::Abort,
        Input::Close,
        Input::RoomUsedUp,
        Input::RoomBack,
        Input::LineDown,
        Input::LineUp,
    ];

    /// Returns it in words.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Input::Sabm => "SABM, P=1",
            Input::Sabme => "SABME, P=1",
            Input::SabmAnew => "SABM, P=1, after a frame that showed that the peer is connected",
            Input::Disc => "DISC, P=1",
            Input::Ua => "UA, F=1",
            Input::UaUnasked => "UA, F=0",
            Input::Dm => "DM, F=1",
            Input::DmUnasked => "DM, F=0",
            Input::Frmr => "FRMR, F=0",
            Input::INext => "I, in order, P=0",
            Input::INextAcknowledges => "I, in order, P=0, acknowledges",
            Input::INextAsks => "I, in order, P=1",
            Input::IAhead => "I, ahead, P=0",
            Input::IAheadAgain => "I, ahead once more, P=0",
            Input::IAheadAsks => "I, ahead, P=1",
            Input::IRepeated => "I, repeated, P=0",
            Input::IRepeatedAsks => "I, repeated, P=1",
            Input::IInvalid => "I, in order, N(R) invalid",
            Input::IResponse => "I as a response",
            Input::ILong => "I, longer than N1, P=1",
            Input::IOfAnother => "I, in order, of a protocol that nobody takes",
            Input::RrAsks => "RR command, P=1",
            Input::RrAcknowledges => "RR response, F=0, acknowledges",
            Input::RrAnswersAll => "RR response, F=1, acknowledges all",
            Input::RrAnswersNone => "RR response, F=1, acknowledges nothing",
            Input::RrInvalid => "RR response, F=0, N(R) invalid",
            Input::RrAnswersInvalid => "RR response, F=1, N(R) invalid",
            Input::RnrAsks => "RNR command, P=1",
            Input::Rnr => "RNR response, F=0, acknowledges",
            Input::RnrAnswers => "RNR response, F=1, acknowledges nothing",
            Input::Rej => "REJ response, F=0",
            Input::RejAnswers => "REJ response, F=1",
            Input::RejAsks => "REJ command, P=1",
            Input::Srej => "SREJ response, F=0",
            Input::SrejAnswers => "SREJ response, F=1",
            Input::SrejInvalid => "SREJ of a number that was not sent",
            Input::XidAsks => "XID command",
            Input::XidAnswers => "XID response",
            Input::Test => "TEST command",
            Input::Ui => "UI, P=1",
            Input::Unknown => "an unknown control field",
            Input::T1 => "T1 expires",
            Input::T1Third => "T1 expires for the third time, N2 = 3",
            Input::T2 => "T2 expires after an I frame",
            Input::T3 => "T3 expires, all acknowledged",
            Input::Open => "Open to the same peer",
            Input::Send => "Send",
            Input::Finish => "Finish, not all acknowledged",
            Input::FinishDrained => "Finish, all acknowledged",
            Input::Abort => "Abort",
            Input::Close => "Close",
            Input::RoomUsedUp => "I beyond the credit above",
            Input::RoomBack => "credit above, after I beyond it",
            Input::LineDown => "the TNC goes",
            Input::LineUp => "the TNC comes back",
        }
    }
}
