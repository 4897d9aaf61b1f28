"""Checkpoints that another fit has, or that no fit has written: an exception, whatever the estimator."""

import zlib

import numpy as np
import pytest

import shoal

KINDS = shoal._ESTIMATORS


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(400, 3))


@pytest.mark.parametrize("make", KINDS)
def test_two_fits_do_not_share_a_checkpoint(rows, tmp_path, make):
    file = str(tmp_path / "fit.checkpoint")
    refused = []

    def fit_again(progress):
        with pytest.raises(OSError, match="fit.checkpoint: another fit is using this checkpoint; wait for its end"):
            make(random_state=0, checkpoint=file).fit(rows)
        refused.append(progress.step)

    first = make(random_state=0, checkpoint=file, callback=fit_again).fit(rows)
    assert refused
    assert np.array_equal(make(random_state=0, checkpoint=file).fit(rows).predict(rows), first.predict(rows))


def with_state(text, words):
    """The checkpoint with other words for the state of its best restart, and the checksum that belongs to them."""
    head, body = text.split("\n", 1)
    body = body.removesuffix("\n}\n")
    before, state = body.rsplit('"state":"', 1)
    body = before + '"state":"' + words(state[: state.index('"')]) + state[state.index('"') :]
    crc = head[head.index('"crc32":') : head.index(',"body"')]
    return head.replace(crc, f'"crc32":{zlib.crc32(body.encode())}') + "\n" + body + "\n}\n"


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize(
    "words, message",
    [
        (lambda state: state[: 3 * 16], "its state has 3 words, too few"),
        (lambda state: "7ff8000000000000" * (len(state) // 16), "nan"),
        (lambda state: state + state, "too many|should be"),
    ],
)
def test_words_that_no_fit_has_saved_are_refused(rows, tmp_path, make, words, message):
    file = tmp_path / "fit.checkpoint"
    make(random_state=0, checkpoint=str(file)).fit(rows)
    file.write_text(with_state(file.read_text(), words))
    with pytest.raises(ValueError, match=f"fit.checkpoint: not a usable checkpoint: .*({message})"):
        make(random_state=0, checkpoint=str(file)).fit(rows)
