"""Properties of tokens that need no labels, and how well a linear map of a layer's output names them."""

import re
from collections import Counter

import numpy as np

import fixtures
import measures

FREQUENT, PARTS = 16, 8
UNFINISHED = "\N{REPLACEMENT CHARACTER}"


def labels(windows: np.ndarray, decode) -> dict[str, np.ndarray]:
    """The class of every token of every window by property, −1 where it has none; classes have no gaps."""
    count, seq_len = windows.shape
    frequent = sorted(Counter(windows.ravel().tolist()).items(), key=lambda item: (-item[1], item[0]))[:FREQUENT]
    place = {token: at for at, (token, _) in enumerate(frequent)}
    texts = [pieces(window.tolist(), decode) for window in windows]
    rows = lambda of: np.array([of(window) for window in texts])
    found = {
        "token": np.vectorize(lambda token: place.get(token, FREQUENT))(windows),
        "position": np.tile(np.arange(seq_len) * PARTS // seq_len, (count, 1)),
        "next_kind": rows(lambda window: following(kinds(window))),
        "sentence_end": rows(lambda window: following([any(sign in text for sign in ".!?") for text in window])),
        "person": rows(lambda window: last_named(window, world("person"))),
        "place": rows(lambda window: last_named(window, world("place"))),
    }
    found = {name: numbered(classes) for name, classes in found.items()}
    return {name: classes for name, classes in found.items() if classes.max() > 0 and (classes >= 0).mean() >= 0.5}


def score(after: np.ndarray, classes: dict[str, np.ndarray], train: np.ndarray, held: np.ndarray) -> dict:
    """Shares of the held-out tokens whose property the least-squares map of `after` onto all classes names."""
    flat = lambda windows: after[windows].reshape(-1, after.shape[-1]).astype(np.float64)
    one_hot = lambda labels: (labels.reshape(-1, 1) == np.arange(labels.max() + 1)).astype(np.float64)
    targets = np.concatenate([one_hot(labels).reshape(*labels.shape, -1) for labels in classes.values()], axis=2)
    fitted = measures.fit(flat(train), targets[train].reshape(-1, targets.shape[2]))
    outputs = fitted.predict(flat(held))
    found, first = {}, 0
    for name, labels in classes.items():
        size = labels.max() + 1
        named = outputs[:, first : first + size].argmax(axis=1)
        first += size
        truth = labels[held].ravel()
        known = truth >= 0
        seen = labels[train].ravel()
        frequent = np.bincount(seen[seen >= 0], minlength=size).argmax()
        found[name] = {
            "accuracy": float((named == truth)[known].mean()),
            "most_frequent": float((truth[known] == frequent).mean()),
        }
    return found


def pieces(ids: list[int], decode) -> list[str]:
    """The text that each token adds; an unfinished character is added by its last token."""
    found, before = [], ""
    for end in range(1, len(ids) + 1):
        text = decode(ids[:end])
        if text.endswith(UNFINISHED):
            found.append("")
            continue
        found.append(text[len(before) :])
        before = text
    return found


def kinds(window: list[str]) -> list[int]:
    """0 begins a word, 1 continues one, 2 is a number, 3 holds a line break, 4 is anything else."""
    found, before = [], " "
    for text in window:
        begins = text[:1].isspace() or not before.isalnum()
        first = text.lstrip()[:1]
        before = text[-1:] or before
        if "\n" in text:
            found.append(3)
        elif first.isnumeric():
            found.append(2)
        elif first.isalpha():
            found.append(0 if begins else 1)
        elif first:
            found.append(4)
        else:
            found.append(0 if text else 1)
    return found


def following(classes: list) -> list[int]:
    return [int(after) for after in classes[1:]] + [-1]


def last_named(window: list[str], names: list[str]) -> list[int]:
    """Which name was complete last, up to and with each token."""
    found, text = [], ""
    for piece in window:
        text += piece
        ends = [(text.rfind(name) + len(name), at) for at, name in enumerate(names) if name in text]
        found.append(max(ends)[1] if ends else -1)
    return found


def numbered(classes: np.ndarray) -> np.ndarray:
    known = np.unique(classes[classes >= 0])
    return np.where(classes >= 0, np.searchsorted(known, classes), -1)


def world(kind: str) -> list[str]:
    """Names of the world that generated texts are about."""
    source = (fixtures.FOLDER.parents[1] / "src/corpus/synthetic/world.rs").read_text()
    return re.findall(rf"\b{kind}\(\s*\(\"([A-Z]\w+)\"", source)
