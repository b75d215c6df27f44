//! The memory of a process, from Linux's figures.

use std::{io, path::PathBuf};

use crate::Error;

/// The memory of a process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The resident memory, with the used pages of its binary (`VmRSS`). A container's limit counts this.
    pub resident: u64,
    /// The most that was resident at a time (`VmHWM`).
    pub peak: u64,
    /// The resident memory of the process alone (`RssAnon`): heap and stacks.
    pub anonymous: u64,
}

/// The memory that a process has now.
pub fn memory(pid: u32) -> Result<Memory, Error> {
    let path = PathBuf::from(format!("/proc/{pid}/status"));
    let status = std::fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    let odd = || io::Error::new(io::ErrorKind::InvalidData, "it isn't laid out as proc(5) says");
    parse(&status).ok_or_else(odd).map_err(Error::file("understand", &path))
}

fn parse(status: &str) -> Option<Memory> {
    let bytes = |name: &str| {
        let rest = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        rest.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    };
    Some(Memory { resident: bytes("VmRSS")?, peak: bytes("VmHWM")?, anonymous: bytes("RssAnon")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_are_found_by_their_names() {
        let status =
            "Name:\tVmRSS: 7 kB\nVmPeak:\t  900 kB\nVmHWM:\t   30 kB\nVmRSS:\t   20 kB\nRssAnon:\t   10 kB\n";
        let memory = Memory { resident: 20 * 1024, peak: 30 * 1024, anonymous: 10 * 1024 };
        assert_eq!(parse(status), Some(memory));
        assert_eq!(parse("VmRSS:\t20 kB\n"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_running_process_has_memory() {
        let memory = memory(std::process::id()).unwrap();
        assert!(memory.anonymous > 0 && memory.anonymous <= memory.resident, "{memory:?}");
        assert!(super::memory(u32::MAX).is_err());
    }
}
