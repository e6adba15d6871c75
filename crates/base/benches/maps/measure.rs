//! Subjects that are timed in turns, and how far a ratio of their times can be trusted.

/// A turn of a subject, by its number; gives nanoseconds for one lookup.
pub(crate) type Turn = Box<dyn FnMut(usize) -> f64>;

/// Subjects and their times so far: one row a subject, one column a round. Each process
/// measures several rounds, one after the other.
pub(crate) struct Race {
    turns: Vec<Turn>,
    times: Vec<Vec<f64>>,
    rounds: usize,
}

/// A subject's place in its race.
#[derive(Clone, Copy)]
pub(crate) struct Subject(usize);

impl Race {
    /// A race that runs so many rounds in a process.
    pub(crate) fn of(rounds: usize) -> Self {
        Race { turns: Vec::new(), times: Vec::new(), rounds }
    }

    pub(crate) fn enter(&mut self, turn: Turn) -> Subject {
        self.turns.push(turn);
        self.times.push(Vec::new());
        Subject(self.turns.len() - 1)
    }

    /// Runs the rounds of this process.
    pub(crate) fn run(&mut self) {
        for _ in 0..self.rounds {
            self.round();
        }
    }

    /// Prints the times of this process for the one that asked for them.
    pub(crate) fn print(&self) {
        for row in &self.times {
            println!("{}", row.iter().map(f64::to_string).collect::<Vec<_>>().join(" "));
        }
    }

    /// Takes what another process has printed.
    pub(crate) fn take(&mut self, printed: &str) {
        for (row, line) in self.times.iter_mut().zip(printed.lines()) {
            row.extend(line.split(' ').map(|time| time.parse::<f64>().expect("a time")));
        }
    }

    /// One turn of each. The order is turned round every time, so that nobody always comes after
    /// the same neighbour.
    fn round(&mut self) {
        let number = self.times.first().map_or(0, Vec::len);
        let subjects = self.turns.len();
        for place in 0..subjects {
            let subject = if number % 2 == 1 { subjects - 1 - place } else { place };
            let time = self.turns[subject](number);
            self.times[subject].push(time);
        }
    }

    pub(crate) fn median(&self, subject: Subject) -> f64 {
        median(&mut self.times[subject.0].clone())
    }

    /// The median of the ratios of all rounds, with the interval that holds it with 95 %, by a
    /// bootstrap that draws whole processes. What slows a whole round, as a neighbour on the same
    /// processor does, slows both and moves neither.
    pub(crate) fn ratio(&self, ours: Subject, theirs: Subject) -> Ratio {
        const DRAWS: usize = 1000;
        let pairs = self.times[ours.0].iter().zip(&self.times[theirs.0]);
        let mut rounds: Vec<f64> = pairs.map(|(ours, theirs)| ours / theirs).collect();
        let mut random = fastrand::Rng::with_seed(1);
        let processes: Vec<&[f64]> = rounds.chunks(self.rounds).collect();
        let mut draw = || {
            processes
                .iter()
                .flat_map(|_| processes[random.usize(..processes.len())])
                .copied()
                .collect::<Vec<_>>()
        };
        let mut ratios: Vec<f64> = (0..DRAWS).map(|_| median(&mut draw())).collect();
        ratios.sort_by(f64::total_cmp);
        Ratio {
            value: median(&mut rounds),
            low: ratios[DRAWS / 40],
            high: ratios[DRAWS - 1 - DRAWS / 40],
        }
    }
}

/// A median of ratios, and where it lies with 95 % confidence.
#[derive(Clone, Copy)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Ratio { value, low, high } = self;
        out.pad(&format!("{value:.3} ({low:.3}..{high:.3})"))
    }
}

fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}
