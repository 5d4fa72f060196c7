// A part of a view that follows the farm: drawn anew when something may have changed, paused by a button (WCAG
// 2.2.2), with the focus where it was.
import { Child, el } from "./dom";
import { FarmError } from "./farm";

const leastPause = 250; // milliseconds

export interface Drawn {
  readonly content: readonly Child[];
  readonly over: boolean; // nothing will change any more
}
export interface Live {
  readonly element: HTMLElement;
  readonly follow: (left: AbortSignal) => void;
}

export function sleep(milliseconds: number, left: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    left.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}

function keyOf(element: Element | null): string | null {
  return element?.getAttribute("data-key") ?? null;
}

function replace(place: HTMLElement, content: readonly Child[]): void {
  const key = place.contains(document.activeElement) ? keyOf(document.activeElement) : null;
  const open = new Set(Array.from(place.querySelectorAll("details[open]"), keyOf));
  place.replaceChildren(...content.filter((one): one is Node | string => one !== null && one !== undefined && one !== false));
  for (const one of Array.from(place.querySelectorAll<HTMLElement>("[data-key]"))) {
    if (one instanceof HTMLDetailsElement && open.has(keyOf(one))) one.open = true;
    if (key !== null && keyOf(one) === key) one.focus({ preventScroll: true });
  }
}

// `draw` asks the farm; `wait` returns when something may have changed. One question at a time, none while the page is hidden.
export function live(first: Drawn, draw: () => Promise<Drawn>, wait: (left: AbortSignal) => Promise<void>): Live {
  const place = el("div", {});
  replace(place, first.content);
  if (first.over) return { element: place, follow: () => {} };
  let paused = false;
  const said = el("span", { role: "status" }, "Follows the farm.");
  const button = el("button", { type: "button", "aria-pressed": "false", click: () => {
    paused = !paused;
    button.setAttribute("aria-pressed", String(paused));
    said.textContent = paused ? "Paused." : "Follows the farm.";
  } }, "Pause");
  const bar = el("p", { class: "live" }, button, " ", said);
  const follow = async (left: AbortSignal) => {
    for (;;) {
      await wait(left);
      if (left.aborted) return;
      if (paused || document.hidden) {
        await sleep(250, left);
        continue;
      }
      try {
        const { content, over } = await draw();
        if (left.aborted) return;
        replace(place, content);
        await sleep(leastPause, left); // however fast a farm says that something is new
        if (over) return bar.replaceChildren("It has ended.");
      } catch (error) {
        said.textContent = error instanceof FarmError ? `Not up to date: ${error.message}` : "Not up to date: the farm's answer has another form than its API.";
        await sleep(2000, left);
      }
    }
  };
  return { element: el("div", {}, bar, place), follow: (left) => void follow(left) };
}
