//! The `lethe` program. What it does is in `lethe-app`: the two are apart so that the shipped program can be optimised as a whole for
//! speed while the command line and configuration are compiled for size.

fn main() -> ! {
    lethe_app::main()
}
