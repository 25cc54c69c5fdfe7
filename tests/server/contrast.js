// The texts of a page whose contrast is less than 4.5.
(() => {
  const parse = (text) => {
    const [r, g, b, a] = text.match(/[\d.]+/g).map(Number);
    const scale = text.startsWith("color(") ? 1 : 255;
    return [r / scale, g / scale, b / scale, a === undefined ? 1 : a];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const background = (element) => {
    if (!element) return [1, 1, 1, 1];
    const own = parse(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, background(element.parentElement));
  };
  const light = (color) => color.slice(0, 3).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const low = [];
  for (const element of document.querySelectorAll("body *")) {
    const text = [...element.childNodes].filter((one) => one.nodeType === 3 && one.textContent.trim());
    if (!text.length || !element.getClientRects().length || element.closest(".silent, option")) continue;
    const below = background(element);
    const [a, b] = [light(over(parse(getComputedStyle(element).color), below)), light(below)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) low.push(`${element.className} ${text[0].textContent.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return low;
})()
