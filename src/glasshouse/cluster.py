"""Glasshouse on a cluster: train in jobs, watch and stop them, measure the machine, prepare a corpus."""

from glasshouse.faces import face

__getattr__, __dir__ = face(
    __name__,
    {
        "api.corpora": "submit_preparation",
        "api.jobs": "cancel cluster_example jobs jobs_folder",
        "api.submission": "train_task training_script",
        "api.training": "doctor measure_steps",
        "launching.cluster_settings": "Slurm",
        "launching.job_status": "JobStatus",
        "launching.submission": "Submission",
    },
)
