"""Lines over a logarithmic axis, as SVG. Plain text on purpose: matplotlib is no package of infra/setup."""
import html
import math

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 80, 160, 48, 56
COLOURS = ("#1b6ca8", "#c4572b", "#3d8b4e", "#7a4fa3", "#8a6d1c", "#555555")


def short(number):
    """"10k" for 10000."""
    for size, letter in ((1_000_000, "M"), (1000, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"


def decades(low, high):
    """Powers of ten from the one below `low` to the one above `high`."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0 ** n for n in range(first, max(last, first + 1) + 1)]


def steps(high):
    """About five round steps from 0 to beyond `high`."""
    raw = (high or 1) / 5
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * n for n in (1, 2, 5, 10) if size * n >= raw)
    return [step * n for n in range(math.ceil((high or 1) / step) + 1)]


def scale(ticks, logarithmic, first, last):
    """Where a value stands between the pixels `first` and `last`."""
    at = math.log10 if logarithmic else float
    low, high = at(ticks[0]), at(ticks[-1])
    return lambda value: first + (at(value) - low) / (high - low) * (last - first)


def text(x, y, words, anchor="middle", size=12, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{more}>{html.escape(words)}</text>'


def plot(title, labels, lines, logarithmic):
    """`lines`: name to [(x, y)], x and, where `logarithmic`, y above 0. Points that are not are left out."""
    kept = {name: [(x, y) for x, y in points if x > 0 and (y > 0 or not logarithmic)] for name, points in lines.items()}
    xs, ys = ([point[i] for points in kept.values() for point in points] for i in (0, 1))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', text(LEFT, TOP - 20, title, "start", 14)]
    if not xs:
        return "\n".join([*out, text(WIDTH / 2, HEIGHT / 2, "nothing was measured"), "</svg>"]) + "\n"
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    xticks = decades(min(xs), max(xs))
    yticks = decades(min(ys), max(ys)) if logarithmic else steps(max(ys))
    x_of, y_of = scale(xticks, True, LEFT, right), scale(yticks, logarithmic, bottom, TOP)
    for tick in xticks:
        out.append(f'<line x1="{x_of(tick):.1f}" y1="{TOP}" x2="{x_of(tick):.1f}" y2="{bottom}" stroke="#dddddd"/>')
        out.append(text(x_of(tick), bottom + 18, short(tick)))
    for tick in yticks:
        out.append(f'<line x1="{LEFT}" y1="{y_of(tick):.1f}" x2="{right}" y2="{y_of(tick):.1f}" stroke="#dddddd"/>')
        out.append(text(LEFT - 8, y_of(tick) + 4, short(tick), "end"))
    out.append(text((LEFT + right) / 2, HEIGHT - 14, labels[0]))
    out.append(text(20, (TOP + bottom) / 2, labels[1], more=f' transform="rotate(-90 20 {(TOP + bottom) / 2})"'))
    for number, (name, points) in enumerate(kept.items()):
        colour, y = COLOURS[number % len(COLOURS)], TOP + 20 * number
        where = " ".join(f"{x_of(a):.1f},{y_of(b):.1f}" for a, b in sorted(points))
        out.append(f'<polyline points="{where}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x_of(a):.1f}" cy="{y_of(b):.1f}" r="3" fill="{colour}"/>' for a, b in points]
        out.append(f'<rect x="{right + 16}" y="{y}" width="12" height="12" fill="{colour}"/>')
        out.append(text(right + 34, y + 11, name, "start"))
    return "\n".join([*out, "</svg>"]) + "\n"
