// A picture as the indices of its pixels in a palette, in base64. The palette has the 16 most frequent colours, and of the
// others, which are those at the edges of letters, as many as are needed so that each colour is near to one.
async (url) => {
  const image = new Image();
  image.src = url;
  await image.decode();
  const context = new OffscreenCanvas(image.naturalWidth, image.naturalHeight).getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.naturalWidth, image.naturalHeight);
  const colours = Array.from({ length: data.length / 4 }, (_, at) => data.subarray(at * 4, at * 4 + 3).join());
  const counts = new Map();
  for (const one of colours) counts.set(one, (counts.get(one) || 0) + 1);
  const byCount = [...counts.keys()].sort((one, other) => counts.get(other) - counts.get(one));
  const far = (one, other) => Math.max(...one.map((value, channel) => Math.abs(value - other[channel])));
  const palette = [];
  for (const text of byCount) {
    const one = text.split(",").map(Number);
    const isFar = palette.length < 16 || palette.every((chosen) => far(one, chosen) > 6);
    if (palette.length < 256 && isFar) palette.push(one);
  }
  const nearest = new Map(byCount.map((text) => {
    const one = text.split(",").map(Number);
    return [text, palette.reduce((best, _, at) => (far(one, palette[at]) < far(one, palette[best]) ? at : best), 0)];
  }));
  const indices = colours.map((one) => String.fromCharCode(nearest.get(one))).join("");
  return [image.naturalWidth, palette.flat(), btoa(indices)];
}
