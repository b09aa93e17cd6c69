"""Learners named by module and class: plain arguments only, and every way in which it can go wrong."""

from __future__ import annotations

import importlib
import importlib.util
import shlex
import subprocess
import sys
import textwrap

import pytest

from heldout.errors import OptionError
from heldout.imports import folder_modules
from heldout.learners.learner import read_learner

OWN = """
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

model = make_pipeline(StandardScaler(), LogisticRegression())
number = 3

class Plain:
    def __init__(self, depth=1):
        self.depth = depth
    def fit(self, X, y):
        return self
    def predict(self, X):
        return [0] * len(X)

def made():
    return Plain(depth=4)

def made_with(depth):
    return Plain(depth)

class Stubborn(Plain):
    def __init__(self):
        raise RuntimeError("no data base")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of a person's own modules, as the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    (tmp_path / "my_learner.py").write_text(OWN, encoding="utf-8")
    yield tmp_path
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder not in folder_modules()]
    for name in set(sys.modules) - before:
        if name.startswith(("my_", "broken_")):
            del sys.modules[name]


def refusal(text):
    with pytest.raises(OptionError) as caught:
        read_learner(text)
    return caught.value.what, caught.value.hint


def test_a_class_is_built_with_plain_arguments():
    text = "sklearn.linear_model:LogisticRegression(C=0.5, class_weight={'a': 1, 'b': -2}, max_iter=50)"
    learner = read_learner(text)
    assert learner.estimator.C == 0.5
    assert learner.estimator.class_weight == {"a": 1, "b": -2}
    assert learner.name == text
    assert not learner.shortcut


def test_arguments_may_stand_by_position():
    assert read_learner("sklearn.neighbors:KNeighborsClassifier(3)").estimator.n_neighbors == 3


def test_a_class_without_parentheses_is_built_with_its_defaults():
    assert repr(read_learner("sklearn.neighbors:KNeighborsClassifier").estimator) == "KNeighborsClassifier()"


def test_the_seed_goes_to_a_random_class_unless_the_text_has_its_own():
    assert read_learner("sklearn.ensemble:ExtraTreesClassifier()", seed=9).estimator.random_state == 9
    own = read_learner("sklearn.ensemble:ExtraTreesClassifier(random_state=1)", seed=9)
    assert own.estimator.random_state == 1


@pytest.mark.usefixtures("folder")
def test_modules_in_the_current_folder_are_found():
    assert [name for name, _ in read_learner("my_learner:model").estimator.steps] == [
        "standardscaler",
        "logisticregression",
    ]
    assert read_learner("my_learner:Plain(7)").estimator.depth == 7
    assert read_learner("my_learner:made").estimator.depth == 4
    assert read_learner("my_learner:made()").estimator.depth == 4
    assert read_learner("my_learner:made_with(depth=2)").estimator.depth == 2


@pytest.mark.usefixtures("folder")
def test_an_object_of_a_module_is_taken_as_it_is():
    model = read_learner("my_learner:model").estimator
    assert model is sys.modules["my_learner"].model


def test_nothing_is_evaluated(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    what, hint = refusal("sklearn.svm:SVC(C=open('trace', 'w').write('x'))")
    assert what == (
        "The learner \"sklearn.svm:SVC(C=open('trace', 'w').write('x'))\" has an argument that is not a plain value: "
        "open('trace', 'w').write('x')."
    )
    assert hint == (
        "use numbers, quoted text, True, False, None and lists of these, or build the object in a module of your own, "
        "my_learner.py, and write 'my_learner:model'."
    )
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("sklearn.svm:SVC(", "'(' was never closed"),
        ("sklearn.svm:SVC().fit", "after the colon there must be one name, with arguments in parentheses if need be"),
        ("sklearn.svm:SVC()()", "after the colon there must be one name, with arguments in parentheses if need be"),
        ("sklearn.svm:SVC(*[1])", "arguments cannot be unpacked with * or **"),
        ("sklearn.svm:SVC(**{'C': 1})", "arguments cannot be unpacked with * or **"),
    ],
)
def test_what_is_no_call_is_refused(text, why):
    what, hint = refusal(text)
    assert what == f"The learner {text!r} cannot be read: {why}."
    assert hint == "write package.module:Class(name=value), such as 'sklearn.svm:SVC(C=10)'."


def test_absurdly_nested_arguments_are_refused_like_any_other():
    with pytest.raises(OptionError, match="cannot be read"):
        read_learner(f"sklearn.svm:SVC({'(' * 5000}1{')' * 5000})")


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        (
            "sklearn.svmm:SVC()",
            "There is no module 'sklearn.svmm', which the learner 'sklearn.svmm:SVC()' names.",
            "did you mean 'sklearn.svm'?",
        ),
        (
            "sklearn.svm.SVC:fit",
            "There is no module 'sklearn.svm.SVC', which the learner 'sklearn.svm.SVC:fit' names.",
            "sklearn.svm.SVC is no module but a name in one: write 'sklearn.svm:SVC()'.",
        ),
        (
            "no_such_package.models:Net()",
            "There is no module 'no_such_package', which the learner 'no_such_package.models:Net()' names.",
            "install no_such_package, or run from the folder that holds no_such_package.py.",
        ),
        (
            "forrest:trees",
            "There is no module 'forrest', which the learner 'forrest:trees' names.",
            "did you mean the learner 'forest'?",
        ),
        (
            "sklearn.svm:LinearSVCC()",
            (
                "The module 'sklearn.svm' has no 'LinearSVCC'. "
                "It has: LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, SVC, SVR."
            ),
            "did you mean 'LinearSVC'?",
        ),
        (
            "sklearn.svm.SVC(C=3)",
            "There is no learner 'sklearn.svm.SVC(C=3)'.",
            "a colon stands between the module and the name: 'sklearn.svm:SVC(C=3)'.",
        ),
        (
            "sklearn.svm.SVC",
            "There is no learner 'sklearn.svm.SVC'.",
            "a colon stands between the module and the name: 'sklearn.svm:SVC()'.",
        ),
        (
            "models/net.py:Net()",
            "There is no learner 'models/net.py:Net()'.",
            "name the module, not its file, from the folder that holds it: 'net:Net()'.",
        ),
        (
            "RotationClassifier(50)",
            "There is no learner 'RotationClassifier(50)'.",
            "name its module too: 'package.module:RotationClassifier(50)'.",
        ),
        (
            "sklearn.linear_model:LinearRegression()",
            "'sklearn.linear_model:LinearRegression()' predicts numbers, not classes: it is a regressor.",
            "use the classifier of that family (LogisticRegression for LinearRegression, SVC for SVR).",
        ),
    ],
)
def test_a_name_that_leads_nowhere_says_where_it_broke(text, what, hint):
    assert refusal(text) == (what, hint)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("x = 1\ny = x / 0\n", "ZeroDivisionError: division by zero (broken_model.py, line 2)"),
        ("x = 1\n\ndef f(:\n", "SyntaxError: invalid syntax (broken_model.py, line 3)"),
        (
            "import no_such_thing_at_all\n",
            "ModuleNotFoundError: No module named 'no_such_thing_at_all' (broken_model.py, line 1)",
        ),
        ("import json\njson.loads('{')\n", "JSONDecodeError: Expecting property name enclosed in double quotes"),
        ("raise SystemExit(3)\n", "SystemExit: 3 (broken_model.py, line 1)"),
    ],
)
def test_a_module_that_fails_says_why_and_in_which_line(folder, body, said):
    (folder / "broken_model.py").write_text(body, encoding="utf-8")
    what, hint = refusal("broken_model:model")
    assert what.startswith(f"The module 'broken_model' cannot be imported: {said}")
    assert "(broken_model.py, line " in what
    assert hint == "mend it so that `python -c 'import broken_model'` runs, then try again."


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        (
            "my_learner:number()",
            "In the learner 'my_learner:number()', number is of type int and cannot be called.",
            "leave out the parentheses.",
        ),
        (
            "my_learner:number",
            "'my_learner:number' has no fit, so nothing can be learned with it.",
            "pass an object with fit and predict, or a name such as 'knn' or 'forest'.",
        ),
        (
            "my_learner:Stubborn()",
            "The learner 'my_learner:Stubborn()' cannot be made: RuntimeError: no data base.",
            "check its arguments.",
        ),
        (
            "my_learner:Plain(deep=3)",
            (
                "The arguments of the learner 'my_learner:Plain(deep=3)' do not fit: "
                "Plain.__init__() got an unexpected keyword argument 'deep'."
            ),
            "Plain takes: depth.",
        ),
        (
            "my_learner:made_with",
            (
                "The arguments of the learner 'my_learner:made_with' do not fit: "
                "made_with() missing 1 required positional argument: 'depth'."
            ),
            "made_with takes: depth.",
        ),
    ],
)
def test_a_person_s_own_module_is_checked_too(text, what, hint):
    assert refusal(text) == (what, hint)


def test_the_current_folder_is_never_on_the_path_and_stands_in_for_no_library(folder):
    (folder / "json.py").write_text("loads = None\n", encoding="utf-8")
    (folder / "my_planted.py").write_text("raise SystemExit('ran')\n", encoding="utf-8")
    read_learner("my_learner:model")
    assert str(folder) not in sys.path
    assert "" not in sys.path
    with pytest.raises(ModuleNotFoundError):
        # Somebody else's optional import finds nothing there.
        importlib.import_module("my_planted")


def test_a_module_of_the_folder_finds_its_neighbours_when_it_is_imported_and_later(folder):
    (folder / "my_parts").mkdir()
    (folder / "my_parts" / "__init__.py").write_text("from my_parts.inner import DEPTH\n", encoding="utf-8")
    (folder / "my_parts" / "inner.py").write_text("DEPTH = 6\n", encoding="utf-8")
    (folder / "my_late.py").write_text("DEPTH = 1\n", encoding="utf-8")
    body = """
        from my_learner import Plain
        from my_parts import DEPTH
        def made():
            import my_late
            return Plain(DEPTH + my_late.DEPTH)
    """
    (folder / "my_outer.py").write_text(textwrap.dedent(body), encoding="utf-8")
    assert read_learner("my_outer:made").estimator.depth == 7


PLANTED = """
import pathlib
pathlib.Path("ran").write_text(__name__)
"""


# What scikit-learn, joblib and pandas try to import, and do without.
OPTIONAL = ("lz4", "cupy", "viztracer", "numexpr", "bottleneck", "simplejson", "array_api_strict")


def test_planted_modules_run_neither_here_nor_in_workers(folder):
    for name in OPTIONAL:
        if importlib.util.find_spec(name) is None:
            (folder / f"{name}.py").write_text(PLANTED, encoding="utf-8")
    rows = "\n".join(f"{at % 7},{at % 5},{'yes' if at % 7 > 3 else 'no'}" for at in range(60))
    (folder / "data.csv").write_text(f"a,b,y\n{rows}\n", encoding="utf-8")
    words = shlex.split("validate data.csv --target y --plan 3-fold --jobs 2 --learner my_learner:model")
    # Python's -m puts the current folder first on the path, here and in the workers.
    command = [sys.executable, "-m", "heldout", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not (folder / "ran").exists(), (folder / "ran").read_text()
