//! Commands to the stack, which are answered in the order in which they were given.

use std::collections::VecDeque;

use stackwright_contract::CommandError;

/// The commands of one association that have no answer yet, or whose answer was not taken.
#[derive(Default)]
pub(crate) struct Commands {
    /// The number of the first command in `given`. Numbers count from 0.
    first: u64,
    /// The number of the command that is answered next.
    next: u64,
    given: VecDeque<Command>,
}

enum Command {
    Given,
    Answered(Result<u32, CommandError>),
    /// Nothing asks for its answer any more.
    Settled,
}

impl Commands {
    /// A command is given; returns its number.
    pub(crate) fn give(&mut self) -> u64 {
        self.given.push_back(Command::Given);
        self.first + self.given.len() as u64 - 1
    }

    /// The stack answers the next command.
    pub(crate) fn answer(&mut self, outcome: Result<u32, CommandError>) {
        let number = self.next;
        if let Some(command) = self.get(number) {
            if matches!(command, Command::Given) {
                *command = Command::Answered(outcome);
            }
            self.next += 1;
            self.forget_settled();
        }
    }

    /// Takes the answer to a command, where it has come.
    pub(crate) fn take(&mut self, number: u64) -> Option<Result<u32, CommandError>> {
        let Command::Answered(outcome) = *self.get(number)? else { return None };
        self.settle(number);
        Some(outcome)
    }

    /// Nothing asks for the answer to a command any more.
    pub(crate) fn settle(&mut self, number: u64) {
        if let Some(command) = self.get(number) {
            *command = Command::Settled;
            self.forget_settled();
        }
    }

    fn get(&mut self, number: u64) -> Option<&mut Command> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.given.get_mut(place)
    }

    /// Those that wait for the stack's answer are kept: the answer is told from others by their
    /// number.
    fn forget_settled(&mut self) {
        while self.first < self.next && matches!(self.given.front(), Some(Command::Settled)) {
            self.given.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_its_own_command_s_whatever_was_given_up_before() {
        let mut commands = Commands::default();
        let numbers = [(); 4].map(|()| commands.give());
        assert_eq!(numbers, [0, 1, 2, 3]);
        commands.settle(0);
        commands.answer(Ok(10)); // to the one that was given up
        commands.answer(Ok(11));
        assert_eq!(commands.take(2), None, "it has no answer yet");
        commands.answer(Err(CommandError::Busy));
        assert_eq!(commands.take(2), Some(Err(CommandError::Busy)));
        assert_eq!(commands.take(1), Some(Ok(11)));
        assert_eq!(commands.take(1), None, "once");
        commands.answer(Ok(13));
        commands.settle(3);
        commands.answer(Ok(14)); // to nothing
        assert!(commands.given.is_empty());
        assert_eq!(commands.give(), 4);
        commands.answer(Ok(15));
        assert_eq!(commands.take(4), Some(Ok(15)));
    }
}
