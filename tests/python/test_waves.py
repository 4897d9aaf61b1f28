"""FitzHugh-Nagumo waves: arrays in and out, and the picture."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import QuadMesh

import shoal
from shoal import _device_arrays, _shoal, plot

sys.path.insert(0, str(Path(__file__).parent))
from device_libraries import LIBRARIES, host, lies_beside, needs_device  # noqa: E402

TIMES = [0, 2, 2, 6]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def euler(v, w, step, steps, a=0.1, gamma=2.0, epsilon=0.01, spacing=0.5):
    for _ in range(steps):
        wide = np.pad(v, 1, mode="reflect")
        bend = (wide[2:] - 2 * v + wide[:-2]) / spacing**2
        v, w = v + step * (bend + v * (1 - v) * (v - a) - w), w + step * epsilon * (v - gamma * w)
    return v, w


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_steps_are_those_of_numpy(dtype):
    v = np.random.default_rng(0).uniform(size=50).astype(dtype)
    w = v[::-1] / 5
    wave = shoal.FitzHughNagumo(step=0.1).solve(v, w, times=TIMES)
    expected = euler(v.astype(float), w.astype(float), 0.1, 60)
    assert wave.v.dtype == wave.w.dtype == dtype and wave.v.shape == (4, 50)
    assert wave.steps == 60 and np.array_equal(wave.times, TIMES)
    np.testing.assert_array_equal(wave.v[0], v)
    np.testing.assert_array_equal(wave.v[1], wave.v[2])
    for found, wanted in zip((wave.v[-1], wave.w[-1]), expected):
        np.testing.assert_allclose(found, wanted, atol=60 * np.finfo(dtype).eps)


@pytest.mark.parametrize("scheme", ["explicit", "adaptive", "crank-nicolson", "pieces", "tr-bdf2"])
def test_every_scheme_moves_the_front(scheme):
    wave = shoal.FitzHughNagumo(epsilon=0, spacing=0.25, scheme=scheme, step=0.02, piece_nodes=90).solve("front", times=[0, 20], shape=401)
    assert wave.wave_speed == pytest.approx(0.8 / np.sqrt(2), abs=6e-3)
    assert (wave.mean_nodes > 0) == (scheme == "adaptive")
    assert (wave.newton_iterations > 0) == (scheme in ("crank-nicolson", "pieces", "tr-bdf2"))


def test_the_plane_has_rows_and_columns():
    wave = shoal.FitzHughNagumo().solve("broken-front", shape=(5, 7), times=[0, 1])
    assert wave.v.shape == wave.w.shape == (2, 5, 7)
    assert wave.v[0, 0, 0] == 1 and wave.w[0, 4, 0] == 0.1 and wave.wave_speed is None


def test_coefficients_may_differ_from_node_to_node():
    a = np.linspace(0.05, 0.4, 50)
    v = np.random.default_rng(1).uniform(size=50)
    wave = shoal.FitzHughNagumo(a=a, step=0.1).solve(v, times=TIMES)
    np.testing.assert_allclose(wave.v[-1], euler(v, np.zeros(50), 0.1, 60, a=a)[0], atol=1e-13)
    with pytest.raises(ValueError, match="broadcast"):
        shoal.FitzHughNagumo(a=a[:3]).solve(v, times=[1])


def test_rows_may_be_axons():
    v = np.zeros((2, 101))
    v[0, 40:60] = 1
    wave = shoal.FitzHughNagumo(coupling=0.05).solve(v, times=[40])
    assert wave.v.shape == (1, 2, 101) and wave.v[0, 1].max() > 0.8


@pytest.mark.parametrize("scheme", ["explicit", "crank-nicolson"])
def test_noise_has_a_seed(scheme):
    def end(seed, threads):
        noisy = shoal.FitzHughNagumo(noise=0.05, scheme=scheme, random_state=seed, threads=threads)
        return noisy.solve("rest", times=[5], shape=9000).v

    np.testing.assert_array_equal(end(3, 1), end(3, 2))
    assert (end(3, 1) != end(4, 1)).any()


def test_tensors_come_out_where_they_went_in():
    torch = pytest.importorskip("torch")
    v = torch.zeros(30)
    v[:5] = 1
    wave = shoal.FitzHughNagumo().solve(v, times=[1])
    assert isinstance(wave.v, torch.Tensor) and wave.v.dtype == torch.float32
    np.testing.assert_array_equal(wave.v.numpy(), shoal.FitzHughNagumo().solve(v.numpy(), times=[1]).v)


def test_a_tensor_may_be_a_part_of_another():
    torch = pytest.importorskip("torch")
    v = torch.rand(40, 6, dtype=torch.float64)
    wave = shoal.FitzHughNagumo().solve(v.T[:, ::2], v.T[:, ::2] / 5, times=[0, 1])
    assert isinstance(wave.w, torch.Tensor) and wave.w.dtype == torch.float64
    np.testing.assert_array_equal(wave.v[0].numpy(), v.numpy().T[:, ::2])


@needs_device
@pytest.mark.parametrize("options", [{}, {"scheme": "crank-nicolson", "step": 0.1}, {"scheme": "tr-bdf2", "step": 0.1}])
def test_arrays_of_the_host_can_be_computed_on_a_device(options):
    v = np.random.default_rng(0).uniform(size=5000)
    there, here = (shoal.FitzHughNagumo(device=device, **options).solve(v, v / 5, times=TIMES) for device in ("cuda", "cpu"))
    assert isinstance(there.v, np.ndarray) and there.steps == here.steps
    np.testing.assert_allclose(there.v, here.v, atol=1e-9)


@needs_device
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("options", [{}, {"scheme": "crank-nicolson", "step": 0.1}, {"scheme": "tr-bdf2", "boundary": "periodic"}])
def test_states_stay_on_the_device(library, options):
    v = np.random.default_rng(0).uniform(size=5000).astype(np.float32)
    w = v[::-1].copy() / 5
    X = LIBRARIES[library](v)
    there = shoal.FitzHughNagumo(**options).solve(X, LIBRARIES[library](w), times=TIMES)
    here = shoal.FitzHughNagumo(device="cuda", **options).solve(v, w, times=TIMES)
    assert type(there.v).__module__.split(".")[0] == ("torch" if library == "torch" else "cupy")
    assert lies_beside(there.v, X) and lies_beside(there.w, X)
    assert _device_arrays.dtype_of(there.v) == "float32" and isinstance(here.v, np.ndarray)
    np.testing.assert_array_equal(host(there.v), here.v)
    np.testing.assert_array_equal(host(there.w), here.w)
    assert there.steps == here.steps
    np.testing.assert_allclose(here.v[-1], shoal.FitzHughNagumo(**options).solve(v, w, times=TIMES).v[-1], atol=1e-4)


@needs_device
def test_planes_on_the_device_may_have_any_layout_and_no_recovery():
    cupy = pytest.importorskip("cupy")
    v = np.random.default_rng(1).uniform(size=(40, 33))
    here = shoal.FitzHughNagumo().solve(v, times=[0, 3])
    there = shoal.FitzHughNagumo().solve(cupy.asarray(np.ascontiguousarray(v.T)).T, times=[0, 3])
    np.testing.assert_allclose(host(there.v), here.v, atol=1e-13)
    np.testing.assert_allclose(host(there.w), here.w, atol=1e-13)


@needs_device
def test_what_no_device_computes_is_refused(tmp_path):
    torch = pytest.importorskip("torch")
    v = torch.zeros(30, device="cuda")
    for options, message in (
        ({"device": "cpu"}, "move the state"),
        ({"scheme": "adaptive"}, "run on the cpu"),
        ({"checkpoint": tmp_path / "wave.json"}, "checkpoint"),
        ({"precision": "float64"}, "convert v there"),
    ):
        with pytest.raises(ValueError, match=message):
            shoal.FitzHughNagumo(**options).solve(v, times=[1])
    with pytest.raises(ValueError, match="float32 or float64"):
        shoal.FitzHughNagumo().solve(v.half(), times=[1])
    with pytest.raises(ValueError, match="both lie"):
        shoal.FitzHughNagumo().solve(v, np.zeros(30), times=[1])


class OnlyTheInterface:
    """An array of a library that has no DLPack, as Numba's."""

    shape, dtype, __cuda_array_interface__ = (30,), np.dtype("float32"), {}


def test_the_cuda_array_interface_says_what_it_takes(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    error, message = (ImportError, "install cupy") if _shoal.built_with_cuda else (NotImplementedError, "SHOAL_CUDA")
    with pytest.raises(error, match=message):
        shoal.FitzHughNagumo().solve(OnlyTheInterface(), times=[1])
    with pytest.raises(ValueError, match="both lie"):
        shoal.FitzHughNagumo().solve(np.zeros(30), OnlyTheInterface(), times=[1])


def test_a_device_that_cannot_be_used_is_told():
    error, message = (ValueError, "999") if _shoal.built_with_cuda else (NotImplementedError, "SHOAL_CUDA")
    with pytest.raises(error, match=message):
        shoal.FitzHughNagumo(device="cuda:999").solve("rest", times=[1])
    with pytest.raises(ValueError, match="device"):
        shoal.FitzHughNagumo(device="gpu").solve("rest", times=[1])


def test_a_run_goes_on_from_its_checkpoint_and_tells_where_it_is(tmp_path):
    told = []
    wave = shoal.FitzHughNagumo(checkpoint=tmp_path / "wave.json", callback=told.append)
    first, again = (wave.solve("impulse", times=[3]) for _ in range(2))
    np.testing.assert_array_equal(first.v, again.v)
    assert told[-1].phase == "stepping" and told[-1].step == first.steps


@pytest.mark.parametrize(
    "options, v, message",
    [
        ({"step": 0.2}, "impulse", "up to 0.118343"),
        ({"scheme": "euler"}, "impulse", "scheme must be one of explicit, adaptive"),
        ({"boundary": "open"}, "impulse", "boundary must be one of no-flux"),
        ({}, "pulse", "v must be one of rest, impulse"),
        ({}, [0, 1], "at least 3 nodes"),
        ({}, [0, np.nan, 0], r"v\[1\] is nan"),
        ({}, np.zeros((3, 3, 3)), "one dimension"),
        ({"precision": "half"}, "impulse", "precision must be"),
        ({"noise": 1, "scheme": "tr-bdf2"}, "impulse", "noise needs"),
        ({"noise_kind": "white"}, "impulse", "noise_kind must be one of additive"),
        ({"diffusion": -1}, "impulse", "diffusion must be"),
    ],
)
def test_wrong_use_is_told(options, v, message):
    with pytest.raises(ValueError, match=message):
        shoal.FitzHughNagumo(**options).solve(v, times=[1])


def test_the_picture_has_the_values_in_their_places():
    wave = shoal.FitzHughNagumo().solve("impulse", shape=21, times=TIMES)
    axes = plot.space_time(wave)
    (shades,) = [artist for artist in axes.collections if isinstance(artist, QuadMesh)]
    np.testing.assert_array_equal(shades.get_array(), wave.v[[0, 2, 3]])
    assert axes.get_xlim() == pytest.approx((-0.25, 10.25)) and axes.get_ylabel() == "time"
    plot.space_time(wave, quantity="w", ax=pyplot.figure().subplots())


def test_the_picture_refuses_what_it_cannot_show():
    waves = shoal.FitzHughNagumo()
    for wave, message in (
        (waves.solve("rest", times=[1]), "one time"),
        (waves.solve("rest", shape=(3, 3), times=[0, 1]), "plane"),
    ):
        with pytest.raises(ValueError, match=message):
            plot.space_time(wave)
    with pytest.raises(ValueError, match="quantity"):
        plot.space_time(waves.solve("rest", times=[0, 1]), quantity="u")
    with pytest.raises(TypeError, match="wave must be"):
        plot.space_time(np.zeros((3, 3)))


def test_a_wave_that_leaves_the_range_of_numbers_is_refused():
    v = np.zeros(50)
    v[:5] = 1000
    with pytest.raises(ValueError, match="at time 1 is nan at node 0: values have grown out of range"):
        shoal.FitzHughNagumo().solve(v, times=[0, 1])


def test_one_row_stays_a_row():
    v = np.linspace(0, 1, 7)
    flat = shoal.FitzHughNagumo().solve(v, times=[0, 1])
    row = shoal.FitzHughNagumo().solve(v[np.newaxis], times=[0, 1])
    assert row.v.shape == (2, 1, 7) and np.array_equal(row.v[:, 0], flat.v)
    assert flat != row
