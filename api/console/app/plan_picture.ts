// The memory plan over time: how many bytes of the arena are alive in each equal part of a run.
import { bytesText, el, svg } from "./dom";

const wide = 640;
const high = 160;

export function planPicture(name: string, alive: readonly number[], peak: number): Element {
  if (alive.length === 0 || peak <= 0) return el("p", {}, "The manifest does not say what is alive when.");
  const step = wide / alive.length;
  const bars = alive.map((bytes, i) => {
    const height = Math.max(0, Math.min(1, bytes / peak)) * high;
    return svg("rect", { x: (i * step).toFixed(2), y: (high - height).toFixed(2), width: Math.max(step - 1, 0.5).toFixed(2), height: height.toFixed(2), class: "bar" },
      svg("title", {}, `part ${i + 1} of ${alive.length}: ${bytesText(bytes)}`));
  });
  const most = Math.max(...alive);
  return el("figure", {},
    svg("svg", { viewBox: `0 0 ${wide} ${high}`, class: "plan", role: "img", "aria-label": `Memory alive over a run in profile ${name}: at most ${bytesText(most)} of ${bytesText(peak)}` }, ...bars),
    el("figcaption", {}, `Alive over a run, from its beginning to its end: at most ${bytesText(most)}; planned peak ${bytesText(peak)}.`));
}
