#!/usr/bin/env python3
"""The plots are SVG that a parser takes, whatever was measured."""
import pathlib
import sys
import unittest
import xml.dom.minidom

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from plots import decades, plot, short, steps  # noqa: E402


class Plots(unittest.TestCase):
    def drawn(self, lines, logarithmic):
        return xml.dom.minidom.parseString(plot("Leases <by> workers", ("workers", "ms"), lines, logarithmic))

    def test_each_line_has_its_points(self):
        for logarithmic in (True, False):
            drawn = self.drawn({"1 coordinator": [(100, 3), (10_000, 40)], "2 coordinators": [(100, 2), (1000, 0)]}, logarithmic)
            self.assertEqual(len(drawn.getElementsByTagName("polyline")), 2)
            self.assertEqual(len(drawn.getElementsByTagName("circle")), 3 if logarithmic else 4)

    def test_nothing_is_drawn_of_nothing(self):
        for lines in ({}, {"1 coordinator": []}):
            self.assertFalse(self.drawn(lines, True).getElementsByTagName("polyline"))

    def test_axes_hold_all_values(self):
        for low, high in ((3, 40), (7, 7), (0.2, 1_000_000)):
            ticks = decades(low, high)
            self.assertLessEqual(ticks[0], low)
            self.assertGreaterEqual(ticks[-1], high)
        for high in (0, 0.03, 7, 10, 123):
            self.assertGreaterEqual(steps(high)[-1], high)
        self.assertEqual([short(n) for n in (0.1, 100, 20_000, 1_000_000)], ["0.1", "100", "20k", "1M"])


if __name__ == "__main__":
    unittest.main()
