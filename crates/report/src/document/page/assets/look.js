/* Colours and dashes of servers, and the elements that show them. Text enters the page as text, never as markup. */
const lspSoakLook = (() => {
  const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [4, 2], [14, 4], [1, 2]];
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const own = (server, lit) => {
    const hue = color(`--s${server.place % DASHES.length}`);
    return server.rest && !lit ? mixed(hue, color("--rest"), 0.35) : hue;
  };
  /* As `page::class`: after all colours the dash moves on. */
  const dash = (place) => DASHES[(place + Math.floor(place / DASHES.length)) % DASHES.length];
  const classes = (server) => `s${server.place % DASHES.length}${server.rest ? " rest" : ""}`;
  const mixed = (one, other, part) => {
    const parts = (hex) => (hex.length === 4 ? [...hex.slice(1)].map((digit) => digit + digit) : hex.match(/[0-9a-f]{2}/gi)).map((two) => parseInt(two, 16));
    const [a, b] = [parts(one), parts(other)];
    return `#${a.map((value, place) => Math.round(value * part + b[place] * (1 - part)).toString(16).padStart(2, "0")).join("")}`;
  };
  const faint = (hex, part) => hex + Math.round(part * 255).toString(16).padStart(2, "0");

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value === true) made.setAttribute(name, "");
      else if (value !== false) made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  };
  const swatch = (server) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const line = document.createElementNS(svg.namespaceURI, "path");
    svg.setAttribute("viewBox", "0 0 32 12");
    svg.setAttribute("class", classes(server));
    svg.setAttribute("aria-hidden", "true");
    line.setAttribute("d", "M0 6H32");
    line.setAttribute("stroke-dasharray", dash(server.place).join(" "));
    svg.append(line);
    return svg;
  };
  return { color, own, faint, dash, element, swatch };
})();
