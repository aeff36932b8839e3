"""Running pulls in workers.

The modules of this package use these terms:

worker
    A thread or process of joblib's active backend that evaluates pulls.
chunk
    A list of jobs that is sent to a worker in one call.
landing
    A pull that has returned: its outcome and, if it is needed later, its fitted model.
companion
    A separate process, started by a worker, in which pulls run one at a time. It can be
    killed without harm to the worker.
guard
    The code that runs pulls in companions. It kills a pull that exceeds its time limit, and
    retries a pull whose process died.
casualty
    A pull without an outcome: it exceeded its time limit, or its process died every time.
    It is reported as a failed fit.
"""
