"""Affine maps of rows as modules of PyTorch, in the forms in which they are trained."""

import numpy as np
import torch

import measures


class Affine(torch.nn.Module):
    """y = (x − centre) / scale · weight + offset; what else a layer is given goes unused."""

    def __init__(self, weight: np.ndarray, offset: np.ndarray, centre: np.ndarray, scale: np.ndarray):
        super().__init__()
        number = lambda values: torch.tensor(values, dtype=torch.float32)
        self.weight, self.offset = torch.nn.Parameter(number(weight)), torch.nn.Parameter(number(offset))
        self.centre, self.scale = number(centre), number(scale)

    def scaled(self, x: torch.Tensor) -> torch.Tensor:
        return (x - self.centre) / self.scale

    def of_scaled(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight + self.offset

    def forward(self, x: torch.Tensor, *_, **__) -> torch.Tensor:
        return self.of_scaled(self.scaled(x))


def standardised(x: np.ndarray, y: np.ndarray) -> Affine:
    """The least-squares map of rows x → y in the form in which it is applied."""
    fitted, x = measures.fit(x, y), x.astype(np.float64)
    return Affine(fitted.weight * x.std(axis=0)[:, None], fitted.y_mean, x.mean(axis=0), x.std(axis=0))


def raw(x: np.ndarray, y: np.ndarray) -> Affine:
    """The same map as W and b themselves."""
    fitted = measures.fit(x, y)
    return Affine(fitted.weight, fitted.bias, np.zeros(x.shape[1]), np.ones(x.shape[1]))
