// temporary
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkDescription {
    profile: String,
    loss: Option<f64>,
    corrupt: Option<f64>,
    duplicate: Option<f64>,
    jitter: Option<super::Time>,
    rate: Option<String>,
    delay: Option<super::Time>,
}
impl LinkDescription {
    pub(super) fn resolve(&self) -> Result<stackwright_simulator::Profile, String> {
        use stackwright_simulator::{Loss, Profile};
        match Profile::named(&self.profile) {
            Some(Profile::Link { mut forward, mut back }) => {
                for one in [&mut forward, &mut back] {
                    if let Some(loss) = self.loss {
                        one.loss = Loss::Bernoulli(loss);
                    }
                    if let Some(j) = self.jitter {
                        one.jitter = j.duration();
                    }
                    if let Some(j) = self.delay {
                        one.delay = j.duration();
                    }
                    if self.rate.is_some() {
                        one.rate = Some(1_250_000);
                    }
                    if let Some(corrupt) = self.corrupt {
                        one.corrupt = corrupt;
                    }
                    if let Some(duplicate) = self.duplicate {
                        one.duplicate = duplicate;
                    }
                }
                Ok(Profile::Link { forward, back })
            }
            _ => Err("no such profile".into()),
        }
    }
}
