"""What greets a newcomer: the guide's pictures, an import in a clone, warnings, dark plots, seeding's progress."""

import pathlib
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import shoal

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_guides_pictures_show_a_fit_that_found_the_groups():
    guide = (ROOT / "docs/site/guide/pictures.md").read_text()
    made = re.search(r"^X, _ = (.*)$", guide, re.MULTILINE)[1]
    for name, fitted in re.findall(r"^(\w+) = (shoal\.\w+\(.*\))\.fit\(X\)$", guide, re.MULTILINE):
        X, y = eval(made)
        assert adjusted_rand_score(y, eval(fitted).fit(X).predict(X)) > 0.95, name


def imported(folder, *, installed):
    """What ``import shoal`` does where the clone's root comes first on the path."""
    flags = [] if installed else ["-S"]
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); import shoal; print(shoal.__version__)"
    return subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, cwd=folder)


def test_a_clone_on_the_path_says_how_to_install():
    found = imported(ROOT, installed=False)
    assert found.returncode == 1
    assert "ImportError" in found.stderr and "pip install ." in found.stderr


def test_a_clone_on_the_path_does_not_hide_the_installed_package():
    found = imported(ROOT, installed=True)
    assert (found.returncode, found.stdout.strip()) == (0, shoal.__version__), found.stderr


SCALED = np.random.default_rng(0).normal(size=(50, 3)) * [1, 30, 0]


def test_columns_of_other_scales_are_warned_of_where_the_caller_is():
    with pytest.warns(shoal.ColumnScaleWarning, match="the variance of column 1 is .* times that of column 0") as caught:
        shoal.KMeans(2, random_state=0).fit(SCALED)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_columns_of_like_scales_and_filtered_warnings_are_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shoal.KMeans(2, random_state=0).fit(SCALED / [1, 10, 1])
        warnings.filterwarnings("ignore", category=shoal.ColumnScaleWarning)
        shoal.KMeans(2, random_state=0).fit(SCALED)


@pytest.mark.parametrize("style", ["default", "dark_background", "ggplot", "Solarize_Light2", "grayscale"])
def test_pictures_can_be_read_in_every_style(style):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    from matplotlib.colors import to_rgb

    def luminance(colour):
        light = np.array(to_rgb(colour))
        return np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

    def contrast(one, other):
        bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
        return (bright + 0.05) / (dark + 0.05)

    X, _ = shoal.make_mixture(300, 2, 3, random_state=1)
    mixture = shoal.GaussianMixture(3, random_state=0).fit(X)
    with pyplot.style.context(style):
        ax = shoal.plot.data(mixture, X)
        paper, table = ax.get_facecolor(), ax.figure.get_facecolor()
        ax.figure.canvas.draw()
        assert contrast(ax.xaxis.label.get_color(), table) > 4
        for text in [*ax.texts, *ax.get_legend().get_texts()]:
            assert contrast(text.get_color(), paper) > 3, text.get_text()
        for tick in ax.get_xticklabels():
            assert contrast(tick.get_color(), table) > 2.5
        for patch in ax.patches:
            assert contrast(patch.get_edgecolor()[:3], paper) > 2
        pyplot.close(ax.figure)


def test_seeding_tells_how_far_it_is_and_how_long_it_took(capsys):
    X = np.random.default_rng(0).normal(size=(2**18, 4)).astype(np.float32)
    seen = []
    kmeans = shoal.KMeans(130, max_iter=2, random_state=0, callback=seen.append, verbose=1).fit(X)
    seeding = [step for step in seen if step.phase == "seeding"]
    assert [step.step for step in seeding] == list(range(2, 131))
    assert {step.steps for step in seeding} == {130}
    assert all(np.isnan(step.objective) for step in seeding)
    assert [step.phase for step in seen[len(seeding) :]] == ["kmeans"] * kmeans.n_iter_
    assert "Seeding: step 130 of 130" in capsys.readouterr().out
    assert 0 < kmeans.seeding_seconds_


@pytest.mark.parametrize("make", [lambda: shoal.KMeans(2, random_state=0), lambda: shoal.GaussianMixture(2, random_state=0)])
def test_every_fit_knows_the_time_of_its_seeding(make):
    fitted = make().fit(np.random.default_rng(0).normal(size=(100, 2)))
    assert isinstance(fitted.seeding_seconds_, float) and fitted.seeding_seconds_ > 0


def test_automatic_seeding_is_k_means_plus_plus_of_few_rows():
    X = np.random.default_rng(0).normal(size=(500, 2))
    automatic, careful = (shoal.KMeans(5, init=init, random_state=3).fit(X) for init in ("auto", "k-means++"))
    np.testing.assert_array_equal(automatic.cluster_centers_, careful.cluster_centers_)
