#!/usr/bin/env python3
"""Networks of PyTorch with random weights, as torch.export writes them, for captured.py.

usage: captured_torch.py NAME FOLDER    writes NAME.pt2
"""
import pathlib
import sys

import torch
from torchvision import models

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance/torch"))
import zoo  # noqa: E402


def encoder():
    return zoo.EncoderBlock(width=768, heads=12, vocabulary=4096, length=128), (torch.randint(0, 4096, (1, 128)), torch.ones(1, 128, dtype=torch.long))


def decoder():
    return zoo.DecoderWithCache(width=1024, heads=16, key_heads=4), (torch.randn(1, 1, 1024), *torch.randn(2, 1, 4, 255, 64))


NETWORKS = {"torch_resnet18": lambda: (models.resnet18(weights=None), (zoo.image(224),)), "torch_encoder": encoder,
            "torch_decoder_step": decoder, "torch_unet": lambda: (zoo.UNet(width=64), (zoo.image(64), torch.tensor([3])))}


def main(name, folder):
    torch.manual_seed(1)
    model, inputs = NETWORKS[name]()
    torch.export.save(torch.export.export(model.eval(), inputs), pathlib.Path(folder, f"{name}.pt2"))


if __name__ == "__main__":
    main(*sys.argv[1:])
