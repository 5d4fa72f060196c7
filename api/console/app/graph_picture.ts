// A graph in columns as SVG: nodes are links that a keyboard reaches, the picture moves with buttons, arrow keys,
// the wheel and by being dragged. Beside it stands a table that says the same.
import { cut, el, svg } from "./dom";

export interface GraphNode {
  readonly id: string;
  readonly column: number;
  readonly kind: string; // a class of the picture, and a word for people
  readonly label: string;
  readonly href: string; // "" for none
  readonly row?: number; // not above this row of its column
}
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly label?: string; // written beside the line
}

const columnWidth = 260;
const rowHeight = 34;
const boxWidth = 200;
const boxHeight = 24;

export function graphPicture(name: string, nodes: readonly GraphNode[], edges: readonly GraphEdge[]): HTMLElement {
  const places = new Map<string, { x: number; y: number }>();
  const heights: number[] = [];
  for (const node of nodes) {
    const row = Math.max(heights[node.column] ?? 0, node.row ?? 0);
    places.set(node.id, { x: 10 + node.column * columnWidth, y: 10 + row * rowHeight });
    heights[node.column] = row + 1;
  }
  const size = { x: 20 + heights.length * columnWidth, y: 20 + Array.from(heights, (one) => one ?? 0).reduce((most, one) => Math.max(most, one), 1) * rowHeight };
  const lines = edges.flatMap(({ from, to, label }) => {
    const [a, b] = [places.get(from), places.get(to)];
    if (!a || !b) return [];
    const [x1, y1, x2, y2] = [a.x + boxWidth, a.y + boxHeight / 2, b.x, b.y + boxHeight / 2];
    const middle = (x1 + x2) / 2;
    const path = svg("path", { d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`, class: "edge" });
    return label === undefined ? [path] : [path, svg("text", { x: middle, y: (y1 + y2) / 2 - 3, class: "edge-label", "text-anchor": "middle" }, cut(label, 26))];
  });
  const boxes = nodes.map((node) => {
    const place = places.get(node.id)!;
    const short = cut(node.label, 26);
    // The name begins with what is seen, for whoever speaks to the page.
    const spoken = `${short}, ${node.kind}${short === node.label ? "" : `, in full ${node.label}`}`;
    const shown = [svg("title", {}, `${node.kind}: ${node.label}`),
      svg("rect", { x: place.x, y: place.y, width: boxWidth, height: boxHeight, rx: 4 }),
      svg("text", { x: place.x + 8, y: place.y + 16 }, short)];
    return node.href === "" ? svg("g", { class: `node ${node.kind}`, tabindex: 0, role: "img", "aria-label": spoken }, ...shown)
      : svg("a", { class: `node ${node.kind}`, href: node.href, "aria-label": spoken }, ...shown);
  });
  const picture = svg("svg", { class: size.y * 4 < size.x ? "graph low" : "graph", preserveAspectRatio: "xMinYMin meet", role: "group", "aria-label": name }, ...lines, ...boxes);
  const view = { x: 0, y: 0, width: size.x, height: Math.min(size.y, size.x) };
  const show = () => picture.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
  const zoom = (factor: number) => {
    view.x += (view.width * (1 - factor)) / 2;
    view.y += (view.height * (1 - factor)) / 2;
    view.width *= factor;
    view.height *= factor;
    show();
  };
  const move = (dx: number, dy: number) => {
    view.x += dx * view.width;
    view.y += dy * view.height;
    show();
  };
  const whole = () => {
    Object.assign(view, { x: 0, y: 0, width: size.x, height: Math.min(size.y, size.x) });
    show();
  };
  // On a phone it begins with as much as can be read there.
  const narrow = window.innerWidth < 640;
  if (narrow) Object.assign(view, { width: Math.min(size.x, window.innerWidth * 1.3), height: Math.min(size.y, window.innerWidth * 1.6) });
  show();
  const keys: Readonly<Record<string, () => void>> = {
    "+": () => zoom(0.8), "-": () => zoom(1.25), "0": whole, ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0),
    ArrowUp: () => move(0, -0.1), ArrowDown: () => move(0, 0.1),
  };
  const button = (label: string, sign: string, work: () => void) => el("button", { type: "button", "aria-label": label, click: work }, sign);
  const frame = el("div", { class: "graph-frame", tabindex: 0, role: "region", "aria-label": `${name}; plus and minus zoom, arrows move, 0 shows all`,
    keydown: (event) => {
      const work = keys[(event as KeyboardEvent).key];
      if (!work) return;
      event.preventDefault();
      work();
    },
    wheel: (event) => {
      if (!(event as WheelEvent).ctrlKey) return; // a page is scrolled through
      event.preventDefault();
      zoom((event as WheelEvent).deltaY > 0 ? 1.25 : 0.8);
    },
    pointermove: (event) => {
      const { buttons, movementX, movementY } = event as PointerEvent;
      if (buttons !== 1) return;
      const { width, height } = picture.getBoundingClientRect();
      move(-movementX / Math.max(width, 1), -movementY / Math.max(height, 1));
    } }, picture);
  return el("figure", {}, el("div", { class: "tools" }, button("Zoom in", "+", () => zoom(0.8)), button("Zoom out", "\u2212", () => zoom(1.25)),
    button("Left", "\u2190", () => move(-0.1, 0)), button("Right", "\u2192", () => move(0.1, 0)), button("Up", "\u2191", () => move(0, -0.1)),
    button("Down", "\u2193", () => move(0, 0.1)), button("Show all", "All", whole)), frame);
}
