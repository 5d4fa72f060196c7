// Headless Chromium by chromedriver, in the words of W3C WebDriver. Nothing but Debian's two packages.
import { spawn } from "node:child_process";
import fs from "node:fs";

const element = "element-6066-11e4-a52e-4f735466cecf";

// Where Debian puts it; null where there is none.
export function driverProgram() {
  return ["/usr/bin/chromedriver"].find((path) => fs.existsSync(path)) ?? null;
}

export class Browser {
  // `phone`: of these dots, as a phone has them. A window alone is never narrower than 500.
  static async start({ dark = false, phone = null } = {}) {
    const process_ = spawn(driverProgram(), ["--port=0"], { stdio: ["ignore", "pipe", "pipe"] });
    const port = await new Promise((resolve, reject) => {
      let said = "";
      process_.stdout.on("data", (chunk) => {
        said += chunk;
        const found = /successfully on port (\d+)/.exec(said);
        if (found) resolve(found[1]);
      });
      process_.on("exit", () => reject(new Error(`chromedriver ended: ${said}`)));
    });
    const browser = new Browser(process_, `http://127.0.0.1:${port}`);
    const { sessionId } = await browser.call("POST", "/session", { capabilities: { alwaysMatch: {
      browserName: "chrome", "goog:loggingPrefs": { browser: "ALL" },
      "goog:chromeOptions": { args: ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1280,900",
        ...(dark ? ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] : [])],
        ...(phone ? { mobileEmulation: { deviceMetrics: { ...phone, pixelRatio: 1 } } } : {}) },
    } } });
    browser.session = `/session/${sessionId}`;
    return browser;
  }

  constructor(process_, base) {
    this.process = process_;
    this.base = base;
    this.session = "";
  }

  async call(method, path, body) {
    const response = await fetch(`${this.base}${path}`, { method, body: body && JSON.stringify(body) });
    const { value } = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${value.error}: ${value.message}`);
    return value;
  }

  open(url) {
    return this.call("POST", `${this.session}/url`, { url });
  }
  // What `script`, a function's body, returns.
  run(script, ...args) {
    return this.call("POST", `${this.session}/execute/sync`, { script, args });
  }
  async find(css) {
    return (await this.call("POST", `${this.session}/element`, { using: "css selector", value: css }))[element];
  }
  async type(css, text) {
    await this.call("POST", `${this.session}/element/${await this.find(css)}/value`, { text });
  }
  async click(css) {
    await this.call("POST", `${this.session}/element/${await this.find(css)}/click`, {});
  }
  async press(...keys) {
    await this.call("POST", `${this.session}/actions`, { actions: [{ type: "key", id: "keyboard",
      actions: keys.flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]) }] });
  }
  // Goes to a view of the page that is open, and waits until it is shown.
  async visit(hash) {
    await this.run("document.querySelector('main')?.setAttribute('aria-busy', 'true'); if (location.hash === arguments[0]) " +
      "window.dispatchEvent(new HashChangeEvent('hashchange')); else location.hash = arguments[0];", hash);
    await this.shown();
  }
  async shown() {
    const end = Date.now() + 30000;
    while (!(await this.run("return document.querySelector('main')?.getAttribute('aria-busy') === 'false'"))) {
      if (Date.now() > end) throw new Error(`the view is not shown: ${await this.text()}; ${JSON.stringify(await this.complaints())}`);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }
  text() {
    return this.run("return document.querySelector('main')?.innerText ?? document.body.innerText");
  }
  // What the browser's console said since it was asked last: errors, and violations of the page's policy.
  async complaints() {
    return (await this.call("POST", `${this.session}/se/log`, { type: "browser" })).filter((one) => one.level !== "DEBUG" && one.level !== "INFO").map((one) => one.message);
  }
  // The whole page, or as much of it as a picture holds; or what a window shows of it.
  async screenshot(file, most = 8000) {
    const [width, height] = await this.run("return [document.documentElement.clientWidth, Math.min(document.documentElement.scrollHeight, arguments[0])]", most);
    const { data } = await this.call("POST", `${this.session}/goog/cdp/execute`, { cmd: "Page.captureScreenshot",
      params: { captureBeyondViewport: true, clip: { x: 0, y: 0, width, height, scale: 1 } } });
    fs.writeFileSync(file, Buffer.from(data, "base64"));
  }
  async stop() {
    await this.call("DELETE", this.session).catch(() => {});
    this.process.kill();
  }
}
