// Two pictures as data URLs: how many pixels differ in a way that a person could see, and how many there are.
async (first, second) => {
  const pixels = async (url) => {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, canvas.width, canvas.height);
  };
  const [one, other] = [await pixels(first), await pixels(second)];
  if (one.width !== other.width || one.height !== other.height) return [one.data.length / 4, one.data.length / 4];
  let differing = 0;
  for (let at = 0; at < one.data.length; at += 4) {
    const far = [0, 1, 2].some((channel) => Math.abs(one.data[at + channel] - other.data[at + channel]) > 8);
    if (far) differing += 1;
  }
  return [differing, one.data.length / 4];
}
