"""Interactive pages in notebooks."""

import html
import json
import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.mixture import GaussianMixture as PeerMixture

import shoal


@pytest.fixture(scope="module")
def rows():
    return shoal.make_mixture(600, 4, 3, random_state=3)[0]


def scene_of(view):
    return json.loads(re.search(r'<script type="application/json" id="scene">(.*?)</script>', view.html, re.S)[1])


@pytest.mark.parametrize("make", shoal._ESTIMATORS)
def test_every_estimator_has_a_page(make, rows, tmp_path):
    model = make(random_state=0).fit(rows)
    view = shoal.view(model, rows)
    scene = scene_of(view)
    assert 590 <= scene["points"]["count"] <= 600
    assert scene["axes"][0]["label"].startswith("principal axis 1")
    assert "https://" not in view.html.replace("http://www.w3.org", "")
    view.save(tmp_path / "view.html")
    assert (tmp_path / "view.html").read_text(encoding="utf-8") == view.html
    shown = view._repr_html_()
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', shown)[1]) == view.html
    assert "points" not in scene_of(shoal.view(model))


def test_settings_and_axes_reach_the_page(rows):
    model = shoal.GaussianMixture(3, random_state=0).fit(rows)
    scene = scene_of(shoal.view(model, rows, axes=(2, 0), wireframe=True, section="x", zoom=2, quantiles=[0.9]))
    assert [axis["label"] for axis in scene["axes"]] == ["column 2", "column 0", ""]
    assert scene["view"]["wireframe"] and scene["view"]["section"] == "x" and scene["view"]["zoom"] == 2
    # The distance within which nine tenths of a Gaussian in the plane lie.
    assert scene["contours"][0]["distance"] == pytest.approx(np.sqrt(-2 * np.log(0.1)))
    assert [len(group["axes"]) for group in scene["groups"]] == [9, 9, 9]


def test_rows_are_thinned_out(rows):
    model = shoal.KMeans(3, random_state=0).fit(rows)
    view = shoal.view(model, rows, max_points=100)
    assert scene_of(view)["points"]["count"] <= 100 and "100 of 600 rows" in view.html


def test_mixtures_of_scikit_learn(rows):
    model = PeerMixture(2, covariance_type="diag", random_state=0).fit(rows)
    assert len(scene_of(shoal.view(model, rows))["groups"]) == 2


def test_wrong_use_is_refused(rows):
    model = shoal.GaussianMixture(2, random_state=0).fit(rows)
    with pytest.raises(ValueError, match="no column 'length'; give names, or numbers below 4"):
        shoal.view(model, rows, axes=["length"])
    with pytest.raises(ValueError, match="three at most"):
        shoal.view(model, rows, axes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="section must be none, x, y, z or diagonal; got 'q'"):
        shoal.view(model, rows, section="q")
    with pytest.raises(ValueError, match="between 0 and 1"):
        shoal.view(model, rows, quantiles=[1])
    with pytest.raises(ValueError, match="max_points"):
        shoal.view(model, rows, max_points=0)
    with pytest.raises(NotFittedError):
        shoal.view(shoal.GaussianMixture(2), rows)
    with pytest.raises(TypeError, match="must be a Gaussian mixture or k-means"):
        shoal.view(object())
