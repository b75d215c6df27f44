//! The CPU time of a process, from Linux's figures.

use std::{io, path::PathBuf, time::Duration};

use crate::Error;

/// The processor's time that a process has had up to now, in user mode and in the system, all its threads together. The
/// system counts it in ticks, of which a second mostly has a hundred: a shorter span can't be measured.
pub fn cpu_time(pid: u32) -> Result<Duration, Error> {
    let path = PathBuf::from(format!("/proc/{pid}/stat"));
    let stat = std::fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    let odd = || io::Error::new(io::ErrorKind::InvalidData, "it isn't laid out as proc(5) says");
    let ticks = ticks(&stat).ok_or_else(odd).map_err(Error::file("understand", &path))?;
    let in_a_second = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_nanos(ticks * (1_000_000_000 / in_a_second)))
}

/// `utime` and `stime` of proc(5), the 14th and the 15th field. The second one is the program's name in parentheses, in
/// which there may be anything, so it is counted from its end.
fn ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11).map(|field| field.parse::<u64>().ok());
    Some(fields.next()?? + fields.next()??)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_times_are_found_behind_any_name() {
        for name in ["baton", "a b", "a) R (1 2 3"] {
            let stat = format!("7 ({name}) S 1 7 7 0 -1 4194304 900 0 0 0 12 30 5 6 20 0 9 0 100 1 2 3\n");
            assert_eq!(ticks(&stat), Some(42), "{name}");
        }
        assert_eq!(ticks("7 (baton) S 1 7"), None);
        assert_eq!(ticks(""), None);
    }

    #[test]
    fn work_is_counted() {
        let (pid, end) = (std::process::id(), Instant::now() + Duration::from_secs(10));
        let before = cpu_time(pid).unwrap();
        while cpu_time(pid).unwrap() == before {
            assert!(Instant::now() < end, "ten seconds of work and not one tick");
        }
        assert!(cpu_time(u32::MAX).is_err());
    }
}
