"""scikit-learn's callbacks, which came with 1.9: what a search tells them, from any process."""

from __future__ import annotations

from collections import Counter

import pytest
from joblib import parallel_backend
from sklearn.base import clone

from doubles import Known as Trained
from search.common import WITH_RUNGS, Known, data, parametrize_searches, small
from search.resuming import cut_after
from sklearn_halving import HyperbandSearchCV

# Goes, with the whole condition, when scikit-learn 1.9 is the oldest supported release.
callback = pytest.importorskip("sklearn.callback")

KNOWN = {"value": [0.1, 0.2, 0.3, 0.4, 0.5]}


class Diary:
    """Writes each hook into a file, which all processes can append to."""

    def __init__(self, path):
        self.path = path

    def setup(self, estimator, context):
        self._write("setup", context)

    def on_fit_task_begin(self, estimator, context):
        self._write("begin", context)

    def on_fit_task_end(self, estimator, context):
        self._write("end", context)

    def teardown(self, estimator, context):
        self._write("teardown", context)

    def _write(self, hook, context):
        names = []
        while context is not None:
            names.append(f"{context.task_name}:{context.task_id}")
            context = context.parent
        with self.path.open("a") as file:
            file.write(f"{hook}|{'/'.join(reversed(names))}\n")

    def read(self):
        return [tuple(line.split("|")) for line in self.path.read_text().splitlines()]


class PropagatedDiary(Diary):
    max_propagation_depth = None


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("n_done", [0, 7, 100])
def test_known_pulls_begin_and_end_too(search_class, n_done, tmp_path):
    """So that what shows progress gets to the end."""
    entries = []
    for part in ("whole", "resumed"):
        diary = Diary(tmp_path / part)
        search = small(search_class, Known(), KNOWN, checkpoint=tmp_path / "journal")
        search.set_callbacks(diary).fit(*data())
        entries.append(diary.read())
        cut_after(tmp_path / "journal", n_done)
    assert_balanced(entries[1])
    assert tasks_of(entries[1]) == tasks_of(entries[0])


def assert_balanced(entries):
    """Every task begins once, then ends once, inside the task above it."""
    is_open = set()
    seen = set()
    for hook, path in entries:
        parent = path.rpartition("/")[0]
        if hook == "begin":
            assert path not in seen
            assert not parent or parent in is_open
            seen.add(path)
            is_open.add(path)
        elif hook == "end":
            assert not any(other.startswith(path + "/") for other in is_open)
            is_open.remove(path)
    assert not is_open


def tasks_of(entries):
    begun = [path.rpartition("/")[2] for hook, path in entries if hook == "begin"]
    return Counter(name.partition(":")[0].partition(" ")[0] for name in begun)


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_hooks_are_balanced(search_class, backend, refit, tmp_path):
    diary = Diary(tmp_path / "diary")
    search = small(search_class, Known(), KNOWN, refit=refit).set_callbacks(diary)
    with parallel_backend(backend, n_jobs=1 if backend == "sequential" else 2):
        search.fit(*data())
    entries = diary.read()
    assert [hook for hook, _ in entries][:2] == ["setup", "begin"]
    assert [hook for hook, _ in entries][-2:] == ["end", "teardown"]
    assert_balanced(entries)
    tasks = tasks_of(entries)
    assert tasks["fit"] == tasks["search"] == 1
    assert tasks["rung"] == (3 if search_class in WITH_RUNGS else 0)
    assert tasks["candidate-split-evaluation"] == search.n_fits_ >= 15
    assert tasks["refit-with-best-params"] == refit


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_teardown_also_comes_after_an_exception(search_class, n_jobs, tmp_path):
    diary = Diary(tmp_path / "diary")
    search = small(search_class, Known(fails=True), KNOWN, error_score="raise", n_jobs=n_jobs)
    with pytest.raises(ArithmeticError):
        search.set_callbacks(diary).fit(*data())
    assert [hook for hook, _ in diary.read()].count("teardown") == 1


class Iterating(callback.CallbackSupportMixin, Known):
    """Has three iterations, each a task of its own."""

    @callback.with_callbacks
    def fit(self, X, y=None):
        context = self._init_callback_context(max_subtasks=3)
        context.call_on_fit_task_begin(estimator=self)
        for step in range(3):
            inner = context.subcontext(task_name=f"iteration {step}")
            inner.call_on_fit_task_begin(estimator=self)
            inner.call_on_fit_task_end(estimator=self)
        super().fit(X, y)
        context.call_on_fit_task_end(estimator=self)
        return self


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_callbacks_reach_the_estimator_inside(search_class, n_jobs, tmp_path):
    diary = PropagatedDiary(tmp_path / "diary")
    search = small(search_class, Iterating(), KNOWN, n_jobs=n_jobs).set_callbacks(diary)
    search.fit(*data())
    entries = diary.read()
    assert tasks_of(entries)["iteration"] == 3 * (search.n_fits_ + 1)
    assert_balanced(entries)


class Stopping(Diary):
    """Wants to stop at the end of a kind of task."""

    def __init__(self, path, task, at=1):
        super().__init__(path)
        self.task = task
        self.at = at

    def on_fit_task_end(self, estimator, context):
        super().on_fit_task_end(estimator, context)
        ended = [path.rpartition("/")[2] for hook, path in self.read() if hook == "end"]
        return sum(name.startswith(self.task) for name in ended) >= self.at


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_a_callback_can_stop_the_search(search_class, backend, tmp_path):
    diary = Stopping(tmp_path / "diary", "candidate-split-evaluation", at=3)
    search = small(search_class, Known(), KNOWN).set_callbacks(diary)
    with (
        parallel_backend(backend, n_jobs=1 + (backend != "sequential")),
        pytest.warns(UserWarning, match="stopped by a callback after"),
    ):
        search.fit(*data())
    assert search.stopped_by_ == "callback"
    # What was under way when it said so still counts; fits as short as these go several at once.
    assert 3 <= search.n_fits_ < 18
    assert backend != "sequential" or search.n_fits_ == 3
    entries = diary.read()
    assert_balanced(entries)
    n_ended = tasks_of(entries)["candidate-split-evaluation"]
    # A process may take the next fits before it is ended. They do not count.
    assert n_ended >= search.n_fits_ if backend == "loky" else n_ended == search.n_fits_
    assert len(search.history_) == search.n_fits_
    assert search.best_estimator_.value == search.best_params_["value"]
    assert tasks_of(entries)["refit-with-best-params"] == 1


def test_a_search_that_a_callback_stopped_goes_on_from_its_checkpoint(tmp_path):
    own = {"checkpoint": tmp_path / "journal", "resource": "n_steps"}
    search = small(HyperbandSearchCV, Trained(n_steps=30), {"quality": KNOWN["value"]}, **own)
    whole = clone(search).set_params(checkpoint=None).fit(*data())
    search.set_callbacks(Stopping(tmp_path / "diary", "candidate-split-evaluation", at=5))
    with pytest.warns(UserWarning, match="stopped by a callback"):
        search.fit(*data())
    with pytest.warns(UserWarning, match="stopped by a callback"):
        search.fit(*data())  # fits of the checkpoint end too, and the callback still says so
    assert search.n_fits_ == 5
    assert search.best_estimator_.n_steps == 30
    search.set_callbacks().fit(*data())
    assert (search.n_fits_, search.stopped_by_) == (whole.n_fits_, "policy")
    assert search.best_params_ == whole.best_params_
