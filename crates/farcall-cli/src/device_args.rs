//! Options for runs on several devices.

use anyhow::{Result, bail, ensure};
use clap::Args;
use farcall::devices::{Grid, MAX_DEVICES};

/// Devices that a program runs on.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct DeviceArgs {
    /// Number of devices that run the program together; each is a thread of this process
    ///
    /// Without this option, the program states the number. A program with shardings is divided among the
    /// devices, as partitions: it takes complete inputs, and returns complete results. In other programs, the
    /// devices exchange values with collectives. They are replicas, unless --partitions or the program says
    /// otherwise. A .npy file or an array with one more dimension than the argument, of size N, gives each
    /// device its part; anything else is the same on all devices, except that random elements differ. See:
    /// farcall guide devices
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub devices: Option<u16>,
    /// Number of replicas [default: from the program, and --devices]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub replicas: Option<u16>,
    /// Number of partitions of each replica [default: from the program]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub partitions: Option<u16>,
}

impl DeviceArgs {
    /// Returns true if an option is given.
    pub(crate) fn are_given(&self) -> bool {
        self.devices.is_some() || self.replicas.is_some() || self.partitions.is_some()
    }

    /// Returns the grid of a program that names the grid `program`. If the program states shardings, its devices
    /// are partitions.
    ///
    /// # Errors
    /// If the options contradict each other or the program, or if there are more than [`MAX_DEVICES`] devices.
    pub(crate) fn grid(&self, program: Grid, has_shardings: bool) -> Result<Grid> {
        let grid = self.stated(program, has_shardings)?;
        ensure!(grid.processes() <= MAX_DEVICES, "{grid} are more than {MAX_DEVICES} devices");
        Ok(grid)
    }

    fn stated(&self, program: Grid, has_shardings: bool) -> Result<Grid> {
        let [devices, replicas, partitions] =
            [self.devices, self.replicas, self.partitions].map(|n| n.map(usize::from));
        let Some(devices) = devices else {
            let (replicas, partitions) =
                (replicas.unwrap_or(program.replicas), partitions.unwrap_or(program.partitions));
            return Ok(Grid { replicas, partitions });
        };
        let of = |n: usize| {
            ensure!(devices.is_multiple_of(n), "{devices} devices cannot be divided into {n} equal parts");
            anyhow::Ok(devices / n)
        };
        let grid = match (replicas, partitions) {
            (Some(replicas), Some(partitions)) => Grid { replicas, partitions },
            (Some(replicas), None) => Grid { replicas, partitions: of(replicas)? },
            (None, Some(partitions)) => Grid { replicas: of(partitions)?, partitions },
            (None, None) if program.processes() == devices => program,
            (None, None) if program == Grid::ONE && has_shardings => {
                Grid { replicas: 1, partitions: devices }
            }
            (None, None) if program == Grid::ONE => Grid { replicas: devices, partitions: 1 },
            (None, None) if has_shardings => {
                let needed = program.processes();
                bail!(
                    "the program's shardings need {program}, not {devices} devices; give --devices {needed}"
                )
            }
            (None, None) => {
                bail!("the program is for {program}; give --replicas and --partitions for other devices")
            }
        };
        ensure!(grid.processes() == devices, "{grid} are not {devices} devices");
        Ok(grid)
    }
}
