"""Where the runs of a study are trained: here, or by the jobs of a Slurm cluster.

A place is passed to whatever trains runs. It answers with what it submitted, or with None if the work is to be done here.
"""

from collections.abc import Sequence
from pathlib import Path

from glasshouse.launching import job_folder, slurm, submission
from glasshouse.launching.batch_script import JobRequest
from glasshouse.launching.cluster_settings import Slurm
from glasshouse.launching.submission import Submission
from glasshouse.records import progress_bar
from glasshouse.studies import run_queue
from glasshouse.studies.run_queue import Place, RunTask
from glasshouse.training import devices

# Slurm's default MaxArraySize is 1001.
MOST_TASKS = 1000


class SlurmJobs(Place):
    """Gives the runs of studies to an array of jobs, and has a last job repeat the command when they have ended.

    `command` are the words after `glasshouse`. The last job finishes the study, or submits the next runs if those depend on
    the first. Steps are timed to plan a study; if the jobs have GPUs and this machine has none, the first job plans it.
    """

    def __init__(self, slurm_options: Slurm, command: Sequence[str], device: str = "auto") -> None:
        self.settings, self.dry_run = slurm_options.settings().for_single_process(), slurm_options.dry_run
        submission.check(self.settings, self.dry_run)
        super().__init__(device)
        self._where = [] if device == "auto" else ["--device", device]
        self.command = [*command, *self._where, *slurm_options.words()]
        self.submitted = Submission()
        self.name = ""  # of the jobs; by default that of their study

    def plan(self, study: str) -> Submission | None:
        """Have the study planned in a job, if the jobs have another device than this machine."""
        return self.measure(study) if self.settings.gpus_per_node and devices.pick("auto").type == "cpu" else None

    def measure(self, name: str) -> Submission | None:
        """Submit the command itself, unless this is its job. All later jobs have the same name."""
        self.name = name
        if job_folder.inside():
            return None
        self._submit(JobRequest(name, job_folder.COMMAND, "", self.command))
        return self.submitted

    def train(self, folder: Path, tasks: Sequence[RunTask]) -> Submission | None:
        if job_folder.inside():
            if len(tasks) == 1:
                return None
            if not slurm.is_installed():
                progress_bar.say("this job cannot submit others, because it has no sbatch on its path; it trains all runs")
                return None
        name, work = self.name or folder.name, str(folder.absolute())
        most = min(self.settings.jobs or MOST_TASKS, len(tasks))
        divided = [[group for task in tasks[first::most] for group in task] for first in range(most)]
        written = [[] for _ in divided] if self.dry_run else [run_queue.write_task(task) for task in divided]
        runs = self._submit(JobRequest(name, job_folder.RUNS, work, ["resume", "{job}", *self._where], written))
        self._submit(JobRequest(name, job_folder.COMMAND, work, self.command), runs)
        return self.submitted

    def _submit(self, request: JobRequest, after: int = 0) -> int:
        return self.submitted.add(request, self.settings, self.dry_run, after)


def place_of(on: Slurm | None, command: Sequence[str], device: str) -> Place:
    """Where a command's runs are trained: here, or by the jobs of a cluster, which repeat the command."""
    return Place(device) if on is None else SlurmJobs(on, command, device)
