"""Running pulls in workers.

The modules of this package use these terms:

worker
    A thread or process of joblib's active backend that evaluates pulls.
chunk
    A list of jobs that is sent to a worker in one call.
result
    What a worker returns for a job: its outcome and, if it is needed later, its fitted model.
guarded
    Evaluated in a separate process, which a worker starts and may kill without harm to itself.
"""
