//! Measures peak memory of parsers on hostile payloads.

use std::io::Write;
use std::process::Command;

use anyhow::{Context, bail};

use crate::Args;
use crate::measure::Subject;
use crate::parsers;

/// Memory that any payload may take, in bytes.
const FLOOR: usize = 32 << 20;

/// Returns a figure of the process's memory, in bytes: `VmRSS` or `VmHWM`.
fn figure(name: &str) -> anyhow::Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib: usize = line
        .and_then(|line| line.strip_prefix(':')?.trim().strip_suffix(" kB"))
        .with_context(|| format!("no {name} in /proc/self/status"))?
        .trim()
        .parse()?;
    Ok(kib << 10)
}

/// Reads one payload in this process, and prints its bytes and the additional bytes that reading it took.
fn one(subjects: &[Subject], wanted: &str, size: usize, to: &mut impl Write) -> anyhow::Result<()> {
    let (parser, shape) = wanted
        .split_once('/')
        .context("a parser and a shape, parted by `/`")?;
    let subject = subjects.iter().find(|subject| subject.name == parser);
    let shapes = subject.iter().flat_map(|subject| &subject.shapes);
    let (_, make) = shapes
        .into_iter()
        .find(|(name, _)| name == shape)
        .with_context(|| format!("there is no shape {wanted}"))?;
    let mut work = make(size);
    // The peak from here on.
    std::fs::write("/proc/self/clear_refs", "5")?;
    let before = figure("VmRSS")?;
    (work.run)();
    let took = figure("VmHWM")?.saturating_sub(before);
    writeln!(to, "{} {took}", work.bytes)?;
    Ok(())
}

/// Measures each parser on each shape at the largest size, each in a separate process. Returns how many take
/// more than `args.most_memory` times their payload and 32 MiB.
pub(crate) fn report(
    args: &Args,
    wanted: &dyn Fn(&str) -> bool,
    to: &mut impl Write,
) -> anyhow::Result<usize> {
    let subjects: Vec<Subject> = parsers::subjects(wanted)?
        .into_iter()
        .map(|parser| parser.alone)
        .collect();
    let kib = args.sizes.last().copied().unwrap_or(1 << 14);
    if let Some(one_shape) = &args.one {
        one(&subjects, one_shape, kib << 10, to)?;
        return Ok(0);
    }
    let program = std::env::current_exe()?;
    let mut over = 0;
    for subject in &subjects {
        writeln!(to, "\n{}", subject.name)?;
        for (shape, _) in &subject.shapes {
            if args.shape.as_ref().is_some_and(|word| !shape.contains(word)) {
                continue;
            }
            let child = Command::new(&program)
                .args(["--memory", "--only", &subject.name, "--sizes", &kib.to_string()])
                .args(["--one", &format!("{}/{shape}", subject.name)])
                // The memory of building the payload is released before it is read.
                .env("MIMALLOC_PURGE_DELAY", "0")
                .output()?;
            if !child.status.success() {
                bail!(
                    "{}/{shape}: {}",
                    subject.name,
                    String::from_utf8_lossy(&child.stderr)
                );
            }
            let output = String::from_utf8(child.stdout)?;
            let (bytes, took) = output.trim().split_once(' ').context("two numbers")?;
            let (bytes, took): (usize, usize) = (bytes.parse()?, took.parse()?);
            let times = took as f64 / bytes.max(1) as f64;
            let heavy = took > FLOOR && times > args.most_memory;
            over += usize::from(heavy);
            writeln!(
                to,
                "  {shape:<40} {:7.1} MiB of payload, {:8.1} MiB more, {times:6.1} times{}",
                bytes as f64 / 1048576.0,
                took as f64 / 1048576.0,
                if heavy { "  HEAVY" } else { "" },
            )?;
        }
    }
    Ok(over)
}
