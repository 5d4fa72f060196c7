"""Random models: chains of some fifteen ATen operations on f32 and i64, with weights, whose own forward is the answer. A seed makes the
same model on every machine. Only what is exact in f32 decides something."""
import random

import torch
from torch import nn
from zoo import Case

STEPS, MOST_ELEMENTS = 15, 2000


class RandomModel(nn.Module):
    """`steps`: functions of the values so far, made while the shapes were tried out."""

    def __init__(self, seed):
        super().__init__()
        self.random, self.steps = random.Random(seed), []
        self.weights = nn.ParameterList()
        generator = torch.Generator().manual_seed(seed)
        shapes = [tuple(self.random.choice((1, 2, 3, 4, 6)) for _ in range(self.random.choice((1, 2, 3)))) for _ in range(3)]
        self.inputs = tuple(torch.randint(-8, 9, shape, generator=generator) / 4.0 for shape in shapes)
        values = [(one, True) for one in self.inputs]
        while len(self.steps) < STEPS:
            made = self.random.choice(RULES)(self, values, generator)
            if made is None:
                continue
            step, exact = made
            result = step([value for value, _ in values])
            if result.numel() > MOST_ELEMENTS or result.numel() == 0 or not torch.isfinite(result.double()).all() or result.double().abs().max() > 1e4:
                continue
            self.steps.append(step)
            values.append((result.detach(), exact))

    def pick(self, values, fits=lambda value, exact: True):
        fitting = [i for i, (value, exact) in enumerate(values) if fits(value, exact)]
        return self.random.choice(fitting) if fitting else None

    def forward(self, *inputs):
        values = list(inputs)
        for step in self.steps:
            values.append(step(values))
        return tuple(values[len(inputs):][-6:])


def real(value, exact):
    return value.is_floating_point()


def unary(model, values, generator):
    i = model.pick(values, real)
    smooth = (torch.tanh, torch.sigmoid, torch.sin, torch.erf, nn.functional.gelu, nn.functional.silu, nn.functional.softplus)
    exact = (torch.abs, torch.neg, torch.relu, torch.clone)
    function = model.random.choice((*smooth, *exact))
    return lambda all_: function(all_[i]), function in exact and values[i][1]


def binary(model, values, generator):
    i = model.pick(values, real)

    def fits(value, exact):
        shapes = zip(reversed(value.shape), reversed(values[i][0].shape))
        return value.is_floating_point() and all(m == n or 1 in (m, n) for m, n in shapes)
    k = model.pick(values, fits)
    function = model.random.choice((torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum))
    return lambda all_: function(all_[i], all_[k]), values[i][1] and values[k][1] and function is not torch.mul


def choose(model, values, generator):
    i = model.pick(values, lambda value, exact: real(value, exact) and exact)
    k = model.pick(values, lambda value, exact: real(value, exact) and value.shape == values[i][0].shape)
    return lambda all_: torch.where(all_[i] > 0.25, all_[k], all_[k] * 0.5 - 1.0), False


def views(model, values, generator):
    i = model.pick(values)
    value, exact = values[i]
    rank, choice = value.dim(), model.random.randrange(7)
    axis = model.random.randrange(rank) if rank else 0
    if rank == 0 or choice == 0:
        return lambda all_: all_[i].unsqueeze(axis), exact
    if choice == 1:
        order = model.random.sample(range(rank), rank)
        return lambda all_: all_[i].permute(order), exact
    if choice == 2:
        return lambda all_: all_[i].flatten(), exact
    if choice == 3:
        first = model.random.randrange(value.shape[axis])
        step = model.random.choice((1, 2))
        return lambda all_: torch.ops.aten.slice.Tensor(all_[i], axis, first, 1 << 40, step), exact
    if choice == 4:
        return lambda all_: torch.cat([all_[i], all_[i].flip(axis)], axis), exact
    if choice == 5:
        return lambda all_: all_[i].roll(1, axis), exact
    return lambda all_: all_[i].unsqueeze(0).expand(2, *value.shape), exact


def reductions(model, values, generator):
    i = model.pick(values, lambda value, exact: real(value, exact) and value.dim() > 0)
    axis, keep = model.random.randrange(values[i][0].dim()), model.random.random() < 0.5
    exact = values[i][1]
    choice = model.random.choice(("sum", "mean", "amax", "cumsum", "softmax", "var", *(["argmax"] if exact else [])))
    if choice in ("sum", "mean", "amax"):
        return lambda all_: getattr(all_[i], choice)(axis, keepdim=keep), exact and choice == "amax"
    if choice == "var":
        return lambda all_: all_[i].var(axis, unbiased=False), False
    return lambda all_: getattr(all_[i], choice)(axis), choice == "argmax"


def linear(model, values, generator):
    i = model.pick(values, lambda value, exact: real(value, exact) and value.dim() > 0)
    width, out = values[i][0].shape[-1], model.random.choice((1, 3, 5))
    model.weights.append(nn.Parameter(torch.randn(out, width, generator=generator) * 0.5))
    at = len(model.weights) - 1
    return lambda all_: nn.functional.linear(all_[i], model.weights[at]), False


def lookup(model, values, generator):
    i = model.pick(values, lambda value, exact: real(value, exact) and value.dim() > 0)
    rows = values[i][0].shape[0]
    index = torch.randint(0, rows, (model.random.choice((1, 2, 5)),), generator=generator)
    return lambda all_: all_[i].index_select(0, index), values[i][1]


RULES = (unary, unary, binary, binary, binary, choose, views, views, reductions, linear, lookup)


def cases(count):
    return {f"random_{seed}": (lambda seed=seed: _case(seed)) for seed in range(count)}


def _case(seed):
    model = RandomModel(seed).eval()
    return Case(model, *model.inputs)
