#!/usr/bin/env python3
"""usage: make_cases.py FOLDER   writes the cases, a file for each operation: inputs at random from a fixed seed, answers
calculated with NumPy, element by element where the specification of TOSA 1.0 has integers."""
import pathlib
import sys

import linalg_cases
import random_cases
import tosa_cases
import tosa_window_cases


def main():
    folder = pathlib.Path(sys.argv[1])
    for module in (tosa_cases, tosa_window_cases, linalg_cases, random_cases):
        for file in module.files():
            file.write(folder)


if __name__ == "__main__":
    main()
