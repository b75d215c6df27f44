//! The claims of the demo. A check mark is printed only here, and only for a claim that was just compared with what the API server
//! has.

use std::fmt::Debug;

use crate::print;

/// A claim that doesn't hold: the end of the demo.
#[derive(Debug, thiserror::Error)]
#[error("this claim does not hold: {claim}")]
pub(crate) struct Broken {
    claim: String,
}

/// How many claims were checked.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    checked: usize,
}

impl Claims {
    /// Compares what was seen with what is expected, and prints the claim with the result.
    pub(crate) fn equal<S, E>(&mut self, claim: &str, seen: &S, expected: &E) -> Result<(), Broken>
    where
        S: PartialEq<E> + Debug + ?Sized,
        E: Debug + ?Sized,
    {
        if seen == expected {
            self.checked += 1;
            print::holds(claim);
            return Ok(());
        }
        print::broken(claim, &format!("{expected:?}"), &format!("{seen:?}"));
        Err(Broken { claim: claim.to_owned() })
    }

    /// How many were checked and hold.
    pub(crate) fn checked(&self) -> usize {
        self.checked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_counts_only_if_it_holds() {
        let mut claims = Claims::default();
        claims.equal("two is two", &2, &2).unwrap();
        let error = claims.equal("two is three", &2, &3).unwrap_err();
        assert_eq!(error.to_string(), "this claim does not hold: two is three");
        assert_eq!(claims.checked(), 1);
    }
}
