/** Messages: a JSON header and arrays. docs/protocol.md specifies them; protocol.py is the counterpart. */

export const PROTOCOL_VERSION = 1;
const MAGIC = "DRM";
const ARRAY_TYPES = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, u2: Uint16Array };

/** Return the header of a message, and its arrays by name. */
export function decodeMessage(buffer) {
  const bytes = new Uint8Array(buffer);
  if (String.fromCharCode(...bytes.subarray(0, 3)) !== MAGIC) throw new Error("this is not a message of Driftmap");
  if (bytes[3] !== PROTOCOL_VERSION) {
    throw new Error(`the message has version ${bytes[3]} of the protocol, this page reads ${PROTOCOL_VERSION}: reload it`);
  }
  const length = new DataView(buffer).getUint32(4, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const arrays = {};
  let offset = 8 + length;
  for (const { name, type, size, low, step } of header.arrays) {
    const codes = new ARRAY_TYPES[type](buffer, offset, size);
    arrays[name] = step === undefined ? codes : dequantize(codes, low, step);
    offset += Math.ceil(codes.byteLength / 8) * 8;
  }
  check(header, arrays);
  return { header, arrays };
}

/** Throw an error if a message is damaged, before anything of it is shown. */
function check({ kind, oldest, first, alerts, columns, capacity }, arrays) {
  const sizes = (names) => new Set(names.map((name) => arrays[name]?.length));
  const values = Object.keys(arrays).filter((name) => /^(v\d+|nearest)$/.test(name));
  const isWhole = kind === "whole" && Array.isArray(columns) && capacity > 0 && arrays.x;
  const isSound = [oldest, first].every(Number.isSafeInteger) && Array.isArray(alerts) && (isWhole || kind === "delta");
  const groups = [["x", "y", ...values], ["moved_x", "moved_y"], ["landmark", "landmark_x", "landmark_y", "mass"]];
  if (!isSound || groups.some((names) => sizes(names).size !== 1)) throw new Error("its parts do not belong together");
}

/** Decode numbers from their codes; the largest code is a missing value. */
function dequantize(codes, low, step) {
  const missing = 2 ** (8 * codes.BYTES_PER_ELEMENT) - 1;
  return Float32Array.from(codes, (code) => (code === missing ? NaN : low + step * code));
}
