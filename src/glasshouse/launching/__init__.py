"""How a command line is run elsewhere: batch scripts for Slurm, their submission, and the record of what was submitted."""
