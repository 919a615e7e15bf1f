"""Glasshouse on a cluster: train in jobs, watch and stop them, measure the machine, prepare a corpus."""

from glasshouse.api.corpora import submit_preparation
from glasshouse.api.jobs import cancel, cluster_example, jobs, jobs_folder
from glasshouse.api.machine import doctor, measure_steps
from glasshouse.api.submission import train_task, training_script
from glasshouse.launching.cluster_settings import Slurm
from glasshouse.launching.job_status import JobStatus
from glasshouse.launching.submission import Submission

__all__ = [
    "JobStatus",
    "Slurm",
    "Submission",
    "cancel",
    "cluster_example",
    "doctor",
    "jobs",
    "jobs_folder",
    "measure_steps",
    "submit_preparation",
    "train_task",
    "training_script",
]
